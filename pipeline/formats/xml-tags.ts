import { Fault } from '../../schemas/fault.js'

/** A start or an end of an element, in the order of the file. */
export interface XmlTag {
  readonly kind: 'start' | 'end'
  /** Without prefix. */
  readonly name: string
  /** Physical line of the tag's first character. */
  readonly line: number
  /** Of a start: its attributes as they are written. */
  readonly attributes: string
  /** Of an end: the text behind the tag before it. */
  readonly text: string
}

const depthMax = 64
const [commentStart, dataStart, instructionStart] = ['<!--', '<![CDATA[', '<?'] as const
/** What ends a part of a file that is not a tag. */
const ends = { comment: '-->', data: ']]>', instruction: '?>' } as const

type Place = 'content' | keyof typeof ends

/** Takes an XML file piece by piece. */
export interface TagReader {
  /** The tags that end in the next piece. */
  read(text: string): readonly XmlTag[]
  /** The line up to which it has read. */
  line(): number
  hasRoot(): boolean
  /** Whether the file ends inside of an element or a tag. */
  isCut(): boolean
}

/**
 * Reads tags in memory of one piece and one tag; of a text longer than `charactersMax` only the start is
 * kept. Comments and instructions are passed over. Throws `HEADER` for a document type, so that no entity
 * is ever expanded, and for tags that do not match.
 */
export function createTagReader(charactersMax: number): TagReader {
  const open: string[] = []
  let line = 1
  let place: Place = 'content'
  let hasRoot = false
  let rest = ''
  let text = ''
  /** The next line end in `rest`. */
  let lineEnd = -1
  const refuse = (what: string) =>
    new Fault('HEADER', `line ${line}: ${what}; export the file as well-formed XML`)
  const keep = (more: string) => {
    if (text.length < charactersMax) text += more.slice(0, charactersMax - text.length)
  }
  const take = (tag: string): readonly XmlTag[] => {
    const [, end = '', name = '', attributes = '', empty = ''] =
      /^<(\/?)([^\s/>]+)([\s\S]*?)(\/?)>$/.exec(tag) ?? []
    if (name === '' || /[<&"']/.test(name)) throw refuse('a tag without a name')
    const own = { name: name.slice(name.indexOf(':') + 1), line }
    const ended: XmlTag = { ...own, kind: 'end', attributes: '', text: end ? text : '' }
    text = ''
    if (end) {
      if (open.pop() !== name) throw refuse(`</${name.slice(0, 40)}> ends no open element`)
      return [ended]
    }
    if (open.length === 0 && hasRoot) throw refuse('a second element behind the root')
    hasRoot = true
    const started: XmlTag = { ...own, kind: 'start', attributes, text: '' }
    if (empty) return [started, ended]
    if (open.push(name) > depthMax) throw refuse(`more than ${depthMax} elements inside each other`)
    return [started]
  }
  /** Begins what is not a tag, and says where it goes on; undefined where more is needed to know. */
  const begin = (at: number): number | undefined => {
    const head = rest.slice(at, at + dataStart.length)
    for (const [kind, start] of [
      ['comment', commentStart],
      ['data', dataStart],
      ['instruction', instructionStart],
    ] as const) {
      if (!head.startsWith(start)) continue
      place = kind
      return at + start.length
    }
    if (head.length === dataStart.length) throw refuse('a document type, which feeds do not have')
    return undefined
  }
  /** Up to where `rest` is used; undefined where more of the file is needed. */
  const step = (at: number, tags: XmlTag[]): number | undefined => {
    if (place !== 'content') {
      const end = rest.indexOf(ends[place], at)
      if (end === -1) return undefined
      if (place === 'data') keep(rest.slice(at, end))
      const next = end + ends[place].length
      place = 'content'
      return next
    }
    const start = rest.indexOf('<', at)
    if (start === -1) return undefined
    if (start > at) keep(rest.slice(at, start))
    if (start > at) return start
    if (rest[at + 1] === '!' || rest[at + 1] === '?') return begin(at)
    const end = tagEnd(rest, at)
    if ((end === -1 ? rest.length : end) - at > charactersMax) throw refuse('a tag is too long')
    if (end === -1) return undefined
    tags.push(...take(rest.slice(at, end)))
    return end
  }
  return {
    read: (more) => {
      rest += more
      lineEnd = rest.indexOf('\n')
      const tags: XmlTag[] = []
      let at = 0
      const pass = (to: number) => {
        for (; lineEnd !== -1 && lineEnd < to; lineEnd = rest.indexOf('\n', lineEnd + 1)) line++
        at = to
      }
      for (let next = step(at, tags); next !== undefined; next = step(at, tags)) pass(next)
      // What has no end yet is dropped, but for a tag and what may be the first half of an end.
      const isTag = place === 'content' && rest[at] === '<'
      const to = isTag ? at : Math.max(at, rest.length - (place === 'content' ? 0 : 2))
      if (place === 'content' || place === 'data') keep(rest.slice(at, to))
      pass(to)
      rest = rest.slice(to)
      return tags
    },
    line: () => line,
    hasRoot: () => hasRoot,
    isCut: () => open.length > 0 || rest !== '' || place !== 'content',
  }
}

/** Behind the `>` of a tag, which may be in a quoted attribute too; -1 where it is not there yet. */
function tagEnd(text: string, from: number): number {
  let quote = ''
  for (let at = from; at < text.length; at++) {
    const one = text[at] as string
    if (quote === '' && one === '>') return at + 1
    if (quote === '' && (one === '"' || one === "'")) quote = one
    else if (one === quote) quote = ''
  }
  return -1
}

/** The value of an attribute; undefined where it is not there. */
export function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*("([^"]*)"|'([^']*)')`).exec(attributes)
  const value = found?.[2] ?? found?.[3]
  return value?.replaceAll('&amp;', '&')
}
