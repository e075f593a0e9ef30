import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parse,
  parseDocument,
  stringify,
  type YAMLError,
} from 'yaml'

/** What a YAML text holds, not yet judged. Throws an error that names the line where it is none. */
export function parseYaml(text: string): unknown {
  return parse(text)
}

/** A value in YAML, on one line; in quotes where a plain text would be read as something else. */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, collectionStyle: 'flow' }).trim()
}

/** A setting to be written into a YAML text. */
export interface WrittenSetting {
  readonly path: readonly string[]
  readonly value: unknown
  /** Why it has this value; empty for none. */
  readonly comment: string
}

/** A YAML text with some settings replaced or added; all other text and comments stay. */
export function withSettings(text: string, settings: readonly WrittenSetting[]): string {
  const document = parseDocument(text)
  for (const { path, value, comment } of settings) {
    const node = document.createNode(value, { flow: true })
    if (comment !== '') node.comment = ` ${comment}`
    document.setIn(path, node)
  }
  return document.toString({ lineWidth: 0 })
}

/** A YAML text whose values have positions. */
export interface PlacedYaml {
  readonly value: unknown
  /**
   * `line 3, column 7` of the value at a path, or of the nearest section around it that is written;
   * undefined where there is none.
   */
  placeOf(path: readonly PropertyKey[]): string | undefined
}

/** Reads a YAML text with its positions. Throws an error that names the line where it is none. */
export function parsePlacedYaml(text: string): PlacedYaml {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  // A warning is of a tag or directive that would be ignored.
  const [error] = [...document.errors, ...document.warnings]
  if (error !== undefined) throw new Error(reasonOf(error, text), { cause: error })
  return {
    value: document.toJS(),
    placeOf: (path) => {
      const offset = offsetOf(document, path)
      if (offset === undefined) return undefined
      const { line, col } = lines.linePos(offset)
      return `line ${line}, column ${col}`
    },
  }
}

/** Without the excerpt that the library appends: it could be a secret. */
function reasonOf({ code, message, pos }: YAMLError, text: string): string {
  const reason = (message.split('\n')[0] ?? '').replace(/:$/, '')
  if (code === 'TAG_RESOLVE_FAILED') {
    const place = reason.replace(/^.*(?= at line)/, 'unknown tag')
    return `${place}; put a text that begins with ! in quotes`
  }
  if (code !== 'DUPLICATE_KEY') return reason
  const name = /^[\w-]+/.exec(text.slice(pos[0]))?.[0] ?? 'a setting'
  return reason.replace('Map keys must be unique', `${name} is set twice, the second time`)
}

/** Of a section its name counts: its value starts a line below. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  let node = document.contents as Node | null | undefined
  let offset: number | undefined
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document)
    const key = isMap(node) ? pairOf(node.items, step)?.key : undefined
    const value = isMap(node) ? pairOf(node.items, step)?.value : undefined
    const item = isSeq(node) ? node.items[Number(step)] : undefined
    node = (value ?? item) as Node | null | undefined
    const start = isScalar(node) || key === undefined ? node : (key as Node)
    if (start?.range == null) return offset
    offset = start.range[0]
  }
  return offset
}

function pairOf(items: readonly Pair[], step: PropertyKey): Pair | undefined {
  return items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
}
