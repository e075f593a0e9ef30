import type { CsvSettings } from '../../../schemas/settings/formats/csv.js'

/** How a file writes numbers; each sign means all signs that look like it. */
type Signs = Pick<CsvSettings, 'decimal' | 'thousands'>

const signs = { '.': '\\.', ',': ',', "'": "['\u2019]", ' ': '[ \u00A0\u2009\u202F]' } as const

export type ThousandsSign = keyof typeof signs

/** A number whose digits are in groups of three, all of them before the decimal sign. */
export function groupedNumber(thousands: ThousandsSign, decimal: '.' | ','): RegExp {
  return new RegExp(`^[+\\u2212-]?\\d{1,3}(${signs[thousands]}\\d{3})+(${signs[decimal]}\\d+)?$`)
}

/** Whether a text has a sign that may separate thousands. */
export function hasSign(text: string, thousands: ThousandsSign): boolean {
  return new RegExp(signs[thousands]).test(text)
}

/**
 * Turns numbers as the file writes them into plain decimals. One with a sign at a place where it separates no
 * thousands becomes `?`: it would be a thousand times too small or too large.
 */
export function createDecimals({ decimal, thousands }: Signs): (text: string) => string {
  const toPoint = (sent: string): string => {
    const text = withPlainSign(sent)
    if (decimal === '.') return text
    return text.includes('.') ? '?' : text.replace(',', '.')
  }
  if (thousands === undefined) return toPoint
  const isGrouped = groupedNumber(thousands, decimal)
  const sign = new RegExp(signs[thousands])
  const all = new RegExp(signs[thousands], 'g')
  return (text) => {
    if (!sign.test(text)) return toPoint(text)
    return isGrouped.test(text) ? toPoint(text.replace(all, '')) : '?'
  }
}

/** A plus is left out, and the minus of typography is that of a keyboard. */
function withPlainSign(text: string): string {
  if (text.startsWith('\u2212')) return `-${text.slice(1)}`
  return text.startsWith('+') && /^.[\d.,]/.test(text) ? text.slice(1) : text
}
