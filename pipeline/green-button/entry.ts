import { createHash } from 'node:crypto'
import { element, startTag, type Xml, type XmlContent } from './xml.js'

/** When what an entry holds became visible, first and last, in epoch seconds. */
export interface Visible {
  readonly first: number
  readonly last: number
}

export interface EntryOptions {
  /** Its own address, which its id is derived from. */
  readonly self: string
  readonly up: string
  readonly related?: readonly string[]
  readonly title: string
  readonly visible: Visible
  readonly content?: Xml
}

const atomNamespace = 'http://www.w3.org/2005/Atom'
const espiNamespace = 'http://naesb.org/espi'

/** An entry of the feed with one resource. */
export function entry({ self, up, related = [], title, visible, content }: EntryOptions): Xml {
  const link = (rel: string, href: string) => element('link', [], { rel, href })
  return element('entry', [
    element('id', `urn:uuid:${toUuid(self)}`),
    link('self', self),
    link('up', up),
    ...related.map((href) => link('related', href)),
    element('title', title),
    ...(content ? [element('content', content)] : []),
    element('published', isoOf(visible.first)),
    element('updated', isoOf(visible.last)),
  ])
}

/** The first bytes of a document, with the start of its root element. */
function openDocument(root: 'feed' | 'entry'): string {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
  return `${declaration}${startTag(root, { xmlns: atomNamespace })}`
}

/** An entry as a document of its own. */
export function entryDocument({ xml }: Xml): string {
  return `${openDocument('entry')}${xml.slice('<entry>'.length)}\n`
}

/** The start of a feed; its entries and its end tag follow. */
export function feedHead(id: string, updatedAt: Date, self?: string): string {
  const updated = isoOf(Math.floor(updatedAt.getTime() / 1_000))
  const head = [
    element('id', `urn:uuid:${id}`),
    ...(self === undefined ? [] : [element('link', [], { rel: 'self', href: self })]),
    element('title', 'Green Button energy usage'),
    element('updated', updated),
  ]
  return `${openDocument('feed')}\n${toLines(head)}`
}

export const toLines = (entries: readonly Xml[]) => entries.map(({ xml }) => `${xml}\n`).join('')

/** A resource, the one element inside of an entry. */
export function resource(name: string, content: XmlContent): Xml {
  return element(name, content, { xmlns: espiNamespace })
}

/** An interval as `DateTimeInterval`. */
export function interval(name: string, start: number, duration: number): Xml {
  return element(name, [element('duration', duration), element('start', start)])
}

export function isoOf(epochSeconds: number): string {
  return new Date(epochSeconds * 1_000).toISOString().replace('.000Z', 'Z')
}

/**
 * A UUID of version 8 (RFC 9562) from the sha256 of its parts: the same for the same parts, and nothing of
 * them can be read from it.
 */
export function toUuid(...parts: readonly (string | number)[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}
