import { daySeconds } from '../time/zone.js'

/** What a scope of Green Button Connect My Data allows (ESPI, NAESB REQ.21). */
export interface EspiScope {
  /** Numbers of function blocks: what the data may contain. */
  readonly functions: ReadonlySet<number>
  /** Seconds of the intervals; undefined for every length. */
  readonly lengths?: ReadonlySet<number>
  /** Seconds of history; undefined for all that there is. */
  readonly historySeconds?: number
}

/** Function blocks that decide about data. */
export const functionBlocks = { intervals: 4, intervalCosts: 12, bills: 15, billCosts: 16 } as const

/** Function blocks of one commodity. A scope that names none of them is for all. */
export const commodityBlocks = { Electric: [5, 6, 7, 8], Gas: [10], Water: [11] } as const

/** Whether a scope of OAuth is one of ESPI. */
export function isEspiScope(scope: string): boolean {
  return /(^|;)FB=/.test(scope)
}

const number = /^\d{1,12}$/

/**
 * Reads a scope such as `FB=4_5_15;IntervalDuration=3600;BlockDuration=monthly;HistoryLength=94608000`. Terms that limit
 * nothing here are skipped. Undefined for a scope that cannot be read, which allows nothing.
 */
export function readEspiScope(scope: string): EspiScope | undefined {
  const terms = scope.split(';').filter((term) => term !== '')
  const pairs = terms.map((term): readonly [string, string] => {
    const [name = '', value = ''] = term.split(/=(.*)/s)
    return [name, value]
  })
  const values = new Map(pairs)
  if (values.size !== pairs.length) return undefined
  const functions = values.get('FB')?.split('_') ?? []
  const history = values.get('HistoryLength')
  const lengths = values.get('IntervalDuration')?.split('_')
  if (functions.length === 0 || !functions.every((one) => number.test(one))) return undefined
  if (history !== undefined && !number.test(history)) return undefined
  return {
    functions: new Set(functions.map(Number)),
    ...(lengths && { lengths: new Set(lengths.map(toSeconds)) }),
    ...(history && { historySeconds: Number(history) }),
  }
}

/** Other names of durations match no interval: Tieline has none that long. */
function toSeconds(duration: string): number {
  if (duration.toLowerCase() === 'daily') return daySeconds
  return number.test(duration) ? Number(duration) : Number.NaN
}
