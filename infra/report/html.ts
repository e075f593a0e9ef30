import { escapeMarkup } from '../../pipeline/green-button/xml.js'

/** Markup whose values are escaped. Only `html` and `trusted` make it. */
export interface Markup {
  readonly markup: string
}

type Value = string | number | Markup | readonly Markup[]

/** Markup with values as text: whatever a value holds, it neither opens a tag nor ends an attribute. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  const markup = strings.reduce((done, part, index) => {
    const value = values[index - 1]
    return `${done}${value === undefined ? '' : markupOf(value)}${part}`
  }, '')
  return { markup: markup.replace(/^\s+/, '') }
}

/** Text that is markup already: scripts and styles of this package. */
export function trusted(text: string): Markup {
  return { markup: text }
}

function markupOf(value: Value): string {
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value))
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('')
}

/** Control and direction-changing characters become `?`. */
function escaped(text: string): string {
  return escapeMarkup(text.replace(/\p{C}/gu, '?'))
}
