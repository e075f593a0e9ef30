/** Markup. Only `element` makes it, so that no text reaches the document unescaped. */
export interface Xml {
  readonly xml: string
}

export type XmlContent = Xml | string | number | bigint | readonly XmlContent[]

/** An element with its content and attributes; texts are escaped. */
export function element(
  name: string,
  content: XmlContent = [],
  attributes: Readonly<Record<string, string>> = {},
): Xml {
  const inner = textOf(content)
  const open = `${name}${attributesOf(attributes)}`
  return { xml: inner === '' ? `<${open}/>` : `<${open}>${inner}</${name}>` }
}

/** The start tag of an element that is written in pieces. */
export function startTag(name: string, attributes: Readonly<Record<string, string>>): string {
  return `<${name}${attributesOf(attributes)}>`
}

function attributesOf(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
    .join('')
}

function textOf(content: XmlContent): string {
  if (typeof content === 'string') return escapeXml(content)
  if (typeof content !== 'object') return String(content)
  if ('xml' in content) return content.xml
  let text = ''
  for (const one of content) text += textOf(one)
  return text
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text as content or attribute of XML or HTML: it neither opens a tag nor ends an attribute. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (found) => entities[found] as string)
}

/** Escapes a text; characters that XML 1.0 does not allow become U+FFFD. */
function escapeXml(text: string): string {
  return escapeMarkup(text).replace(
    /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu,
    '\uFFFD',
  )
}
