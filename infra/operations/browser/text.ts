const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const some = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

export function countText(value: number): string {
  return whole.format(value)
}

/** A decimal number as it is stored, with its thousands apart. */
export function decimalText(value: string): string {
  return value.replace(/^-?\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ','))
}

/** Three significant digits. */
export function rough(value: number): string {
  return some.format(value)
}

/** An instant in UTC, to the minute. */
export function instantText(at: string | number): string {
  return `${timestamp(at)} UTC`
}

/** The same without the zone, for columns whose title names it. */
export function timestamp(at: string | number): string {
  const date = new Date(typeof at === 'number' ? at * 1_000 : at)
  return date.toISOString().slice(0, 16).replace('T', ' ')
}

/** Hours and minutes of seconds since 1970, UTC; with seconds if exact. */
export function clockText(at: number, isExact = false): string {
  return new Date(at * 1_000).toISOString().slice(11, isExact ? 19 : 16)
}

/** A sender's text without invisible and direction-changing characters. */
export function printableText(text: string): string {
  return text.replace(/\p{C}/gu, '?')
}

/** The time of an instant, UTC. */
export function time(at: string): string {
  return `${new Date(at).toISOString().slice(11, 19)} UTC`
}

export function span(milliseconds: number): string {
  const seconds = milliseconds / 1_000
  if (seconds < 1) return `${Math.round(milliseconds)} ms`
  if (seconds < 120) return `${rough(seconds)} s`
  if (seconds < 7_200) return `${rough(seconds / 60)} min`
  return seconds < 172_800 ? `${rough(seconds / 3_600)} h` : `${rough(seconds / 86_400)} days`
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3))
  return `${rough(value / 1_000 ** power)} ${units[power]}`
}

export function percent(share: number): string {
  return `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`
}
