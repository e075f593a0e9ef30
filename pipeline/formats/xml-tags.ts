import sax from 'sax'
import { Fault } from '../../schemas/fault.js'

/** A start or an end of an element, in the order of the file. */
export interface XmlTag {
  readonly kind: 'start' | 'end'
  /** Without prefix. */
  readonly name: string
  /** Physical line: of a start that of its first character. */
  readonly line: number
  /** Of a start. */
  readonly attributes: Readonly<Record<string, string>>
  /** Of an end: the text behind the tag before it. */
  readonly text: string
}

const depthMax = 64
/** The parser bounds each attribute, not how many a tag has. */
const tagCharactersMax = 65_536

/** Takes an XML file piece by piece. */
export interface TagReader {
  /** The tags that end in the next piece. */
  read(text: string): readonly XmlTag[]
  /** The line up to which it has read. */
  line(): number
  hasRoot(): boolean
  /** Whether the file ends inside of an element or a tag; nothing is read after it was asked. */
  isCut(): boolean
}

/**
 * Reads tags in memory of one piece and one tag; of a text longer than `charactersMax` only the start is
 * kept. Throws `HEADER` for what is not well-formed XML, for a tag or comment of more than 64 KiB, and for a
 * document type, so that no entity of a file is ever expanded.
 */
export function createTagReader(charactersMax: number): TagReader {
  const parser = sax.parser(true)
  let tags: XmlTag[] = []
  let [depth, startLine, startsAt, text] = [0, 1, 0, '']
  let [hasRoot, isEnded, isCut] = [false, false, false]
  const line = () => parser.line + 1
  const refuse = (what: string) => {
    const remedy = `${hasRoot ? '' : 'set usage.format, or files.format, to the format of the file, or '}export it as well-formed XML`
    return new Fault('HEADER', `line ${line()}: ${what}; ${remedy}`)
  }
  const keep = (more: string) => {
    if (text.length < charactersMax) text += more.slice(0, charactersMax - text.length)
  }
  const add = (tag: Partial<XmlTag> & Pick<XmlTag, 'kind' | 'name' | 'line'>) => {
    const name = tag.name.slice(tag.name.indexOf(':') + 1)
    tags.push({ attributes: {}, text: '', ...tag, name })
    text = ''
  }
  parser.onerror = (error) => {
    const [what = ''] = error.message.split(/\.?\n/)
    if (!isEnded) throw refuse(what)
    isCut = true
  }
  parser.ondoctype = () => {
    throw refuse('a document type, which feeds do not have')
  }
  parser.onopentagstart = () => {
    // A line end that ends the name is read already.
    startLine = parser.column === 0 ? parser.line : line()
    startsAt = parser.position
  }
  parser.onattribute = () => {
    if (parser.position - startsAt > tagCharactersMax) throw refuse('a tag of more than 64 KiB')
  }
  parser.onopentag = ({ name, attributes }) => {
    if (depth === 0 && hasRoot) throw refuse('a second element behind the root')
    if (++depth > depthMax) throw refuse(`more than ${depthMax} elements inside each other`)
    hasRoot = true
    const own = attributes as Readonly<Record<string, string>>
    add({ kind: 'start', name, line: startLine, attributes: own })
  }
  parser.ontext = keep
  parser.oncdata = keep
  parser.onclosetag = (name) => {
    depth--
    add({ kind: 'end', name, line: line(), text })
  }
  return {
    read: (more) => {
      tags = []
      parser.write(more)
      return tags
    },
    line,
    hasRoot: () => hasRoot,
    isCut: () => {
      if (!isEnded) {
        isEnded = true
        parser.close()
      }
      return isCut
    },
  }
}
