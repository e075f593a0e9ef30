import type { RecordFeed } from '../../../schemas/record-feed.js'

/** What people and programs write where a value should stand; some of it is one. */
const oddities = [
  '',
  ' ',
  '\t',
  '0',
  '-0',
  '1',
  '-1',
  '007',
  '.5',
  '5.',
  '1.0000005',
  '-12.3456785',
  '999999999999.999999',
  '9999999999999',
  '1e3',
  '9.1002E+11',
  '1,5',
  'NaN',
  '\\N',
  '\\',
  "it's",
  '2026-02-28',
  '2026-02-29',
  '2026-2-1',
  '1969-12-31',
  '2105-12-31',
  '2/1/2026',
  '--06-01',
  'Energy',
  'energy',
  'true',
  '24',
  '19:15',
  '19:07',
  'a"b',
  '"a,b"',
  '"a ""b"""',
  '"broken',
  '"over\ntwo lines"',
  'Zürich 💡',
  'x'.repeat(65),
  'y'.repeat(501),
  '=cmd()',
] as const

/** Numbers that look random and are the same for a seed. */
export function createDraw(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

/** A file of a feed whose rows are those of a good file, most of them spoilt somewhere. */
export function hostileFile(feed: RecordFeed, good: string, seed: number): string {
  const draw = createDraw(seed)
  const [header = '', ...rows] = good.trimEnd().split('\n')
  const pick = <T>(values: readonly T[]): T => values[draw(values.length)] as T
  const spoilt = Array.from({ length: 400 }, () => {
    const fields = pick(rows).split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    for (let left = draw(3); left > 0; left--) fields[draw(fields.length)] = pick(oddities)
    if (draw(20) === 0) fields.pop()
    if (draw(20) === 0) fields.push('more')
    return fields.join(',') + (draw(10) === 0 ? '\r' : '')
  })
  const lines = [header, ...rows, ...spoilt, ...rows, ...(feed.key.length > 0 ? spoilt : [])]
  return `${lines.join('\n')}\n`
}
