export const identifierCharactersMax = 64
/** As a spreadsheet shows a long number; `12E34` may be an identifier of the utility's. */
const spreadsheetNumber = /^\d(\.\d+)?[eE][+-]\d{2,3}$/

/** A field without the blanks and tabs around it: the only trimming that a file gets. */
export function trimBlanks(field: string): string {
  let start = 0
  let end = field.length
  while (start < end && isBlank(field.charCodeAt(start))) start += 1
  while (end > start && isBlank(field.charCodeAt(end - 1))) end -= 1
  return field.slice(start, end)
}

/** A field of a CSV row: in quotes where it must be. */
export function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/**
 * Invisible code points, some of which turn or hide others: two identifiers that look alike would be two
 * meters. Controls, format characters, other default ignorables, line separators and noncharacters; in
 * hexadecimal, because the engine and Node each have their own version of Unicode.
 */
export const invisibleRanges: readonly string[] = [
  ...['0-1f', '7f-9f', 'ad', '34f', '600-605', '61c', '6dd', '70f', '890-891', '8e2', '115f-1160'],
  ...['17b4-17b5', '180b-180f', '200b-200f', '2028-202e', '2060-206f', '3164', 'fdd0-fdef'],
  ...['fe00-fe0f', 'feff', 'ffa0', 'fff0-fffb', '110bd', '110cd', '13430-1343f', '1bca0-1bca3'],
  ...['1d173-1d17a', 'e0000-e0fff'],
  ...Array.from('0123456789abcdef', (plane) => `${plane}fffe-${plane}ffff`),
  '10fffe-10ffff',
]
/** Surrogates are text that JSON can escape and UTF-8 cannot spell. */
const invisible = new RegExp(`[${toCharacterClass(invisibleRanges, 'u')}\\p{Cs}]`, 'u')

/** Ranges inside the brackets of a pattern; code points are `\u{...}` in JavaScript, `\x{...}` in RE2. */
export function toCharacterClass(ranges: readonly string[], mark: 'u' | 'x'): string {
  const spell = (range: string) => range.replaceAll(/[0-9a-f]+/g, (hex) => `\\${mark}{${hex}}`)
  return ranges.map(spell).join('')
}

/** Whether a text has a control or other invisible character. */
export function hasInvisible(text: string): boolean {
  return invisible.test(text)
}

/** What a spreadsheet that opens an export would run. */
const formula = /^[=+@-]/

export type IdentifierProblem =
  | 'EMPTY'
  | 'TOO_LONG'
  | 'CONTROL_CHARACTER'
  | 'FORMULA'
  | 'SPREADSHEET_NUMBER'

/** What is wrong with a trimmed identifier (decision 19). */
export function judgeIdentifier(text: string): IdentifierProblem | undefined {
  if (text === '') return 'EMPTY'
  if (text.length > identifierCharactersMax && [...text].length > identifierCharactersMax)
    return 'TOO_LONG'
  if (hasInvisible(text)) return 'CONTROL_CHARACTER'
  if (formula.test(text)) return 'FORMULA'
  return spreadsheetNumber.test(text) ? 'SPREADSHEET_NUMBER' : undefined
}
