const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const fullNames = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august'],
  ...['september', 'october', 'november', 'december'],
]

const name = String.raw`(?<month>[A-Za-z]{3,9})\.?`
const behind = String.raw`(?!\d)(?<rest>.*)$`

/** A year of two digits is one of this century, and is read behind day and month only. */
const shapes = [
  new RegExp(String.raw`^(?<day>\d{1,2})\.?[ -]?${name}(?:[ -]|, ?)?(?<year>\d{4}|\d\d)${behind}`),
  new RegExp(
    String.raw`^${name}[ -](?<day>\d{1,2})(?:st|nd|rd|th)?(?:[ -]|, ?)(?<year>\d{4})${behind}`,
  ),
  new RegExp(String.raw`^(?<year>\d{4})-${name}-(?<day>\d{1,2})${behind}`),
]

/** A date with the English name of its month as `YYYY-MM-DD`, and what is behind it. */
export function monthDate(
  text: string,
): { readonly date: string; readonly rest: string } | undefined {
  for (const shape of shapes) {
    const { day = '', month = '', year = '', rest = '' } = shape.exec(text)?.groups ?? {}
    const at = monthOf(month.toLowerCase())
    if (at === 0) continue
    const numbers = [`20${year}`.slice(-4), String(at).padStart(2, '0'), day.padStart(2, '0')]
    return { date: numbers.join('-'), rest }
  }
  return undefined
}

/** 1 to 12; 0 for what is not the name of a month. */
function monthOf(text: string): number {
  if (text === 'sept') return 9
  return Math.max(months.indexOf(text), fullNames.indexOf(text)) + 1
}
