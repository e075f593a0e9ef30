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

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** What is wrong with a trimmed identifier: it is missing, too long, or rounded (decision 19). */
export function judgeIdentifier(
  text: string,
): 'EMPTY' | 'TOO_LONG' | 'SPREADSHEET_NUMBER' | undefined {
  if (text === '') return 'EMPTY'
  if (text.length > identifierCharactersMax && [...text].length > identifierCharactersMax)
    return 'TOO_LONG'
  return spreadsheetNumber.test(text) ? 'SPREADSHEET_NUMBER' : undefined
}
