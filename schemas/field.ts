const identifierCharactersMax = 64
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

/** Invisible: two identifiers that look alike would be two meters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const controlCharacter = /[\x00-\x1f\x7f-\x9f\ufeff]/
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
  if (controlCharacter.test(text)) return 'CONTROL_CHARACTER'
  if (formula.test(text)) return 'FORMULA'
  return spreadsheetNumber.test(text) ? 'SPREADSHEET_NUMBER' : undefined
}
