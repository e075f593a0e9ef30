import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { fromWallSeconds, type Wall, wallSeconds, type Zone } from '../../../schemas/time/zone.js'
import { header } from '../../story/rig/stack.js'
import { zipOf } from '../files/zip-file.js'

/** A usage file out of good, odd and broken rows. */
export interface MixedFile {
  readonly name: string
  readonly bytes: Buffer
  /** Unpacked, for people. */
  readonly text: string
}

const slashDate = (wall: Wall) => `${wall.month}/${wall.day}/${wall.year}`
const clock = (wall: Wall) => `${wall.hour}:${two(wall.minute)}`
const isoDate = (wall: Wall) => `${wall.year}-${two(wall.month)}-${two(wall.day)}`
const isoClock = (wall: Wall) => `${two(wall.hour)}:${two(wall.minute)}`

const formats = {
  slashDate,
  slashMinutes: (wall) => `${slashDate(wall)} ${clock(wall)}`,
  slashSeconds: (wall) => `${slashDate(wall)} ${clock(wall)}:${two(wall.second)}`,
  slashTwelveHour: (wall) =>
    `${slashDate(wall)} ${wall.hour % 12 || 12}:${two(wall.minute)} ${wall.hour < 12 ? 'AM' : 'pm'}`,
  dayFirst: (wall) => `${wall.day}/${wall.month}/${wall.year} ${clock(wall)}`,
  isoDate,
  isoMinutes: (wall) => `${isoDate(wall)}T${isoClock(wall)}`,
  isoSeconds: (wall) => `${isoDate(wall)} ${isoClock(wall)}:${two(wall.second)}`,
  isoOffset: (wall, offset) => `${isoDate(wall)}T${isoClock(wall)}${offsetText(offset)}`,
} as const satisfies Record<string, (wall: Wall, offsetSeconds: number) => string>

type Format = keyof typeof formats

function two(value: number): string {
  return String(value).padStart(2, '0')
}

function offsetText(seconds: number): string {
  const size = Math.abs(seconds)
  const [hours, minutes] = [Math.floor(size / 3_600), Math.floor((size % 3_600) / 60)]
  return `${seconds < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`
}

const day = 86_400
/** Days in 2024 around which files lie: both clock changes and none, some that read both ways. */
const days = ['2024-03-10', '2024-11-03', '2024-04-07', '2024-10-06', '2024-02-03', '2024-07-20']

const broken = ['x', 'A,S,#', 'A,S,#,1/2/2024 0:00,1,2', ',S,#,1/2/2024 0:00,1', 'A,S,#,soon,1']
  .concat(['A,S,#,3/10/2024 2:30,1', 'A,S,#,13/13/2024 0:00,1', '9.1002E+11,S,#,1/2/2024,2.5'])
  .concat(['A,S,"#,1/2/2024,1', 'A,"S"x,#,1/2/2024,1', 'A,S,#,1/2/2024 0:00,1e3', '   ', ',,,,'])
  .concat(['A,S,#,1/2/2024 0:00,', 'A,S,#,,1', '"A\nB",S,#,2024-01-02,99999999999', 'A,S,#,0,--1'])

const meter = fc.record({
  length: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(900, 3_600, day) },
    { weight: 1, arbitrary: fc.constantFrom(1_800, 60, 2 * day) },
  ),
  /** Hours before the day's midnight at which it starts. */
  lead: fc.integer({ min: 0, max: 4 }),
  count: fc.oneof(fc.constantFrom(1, 2), fc.integer({ min: 3, max: 40 })),
  offset: fc.constantFrom(0, 0, 0, 60),
})

/** What happens to a row, by its place; most stay. */
const fate = fc.oneof(
  { weight: 30, arbitrary: fc.constant('stay' as const) },
  { weight: 6, arbitrary: fc.constantFrom('drop', 'repeat', 'correct', 'reown') },
  { weight: 2, arbitrary: fc.constantFrom('quote', 'blanks', 'blank line', 'span', 'crlf') },
  { weight: 2, arbitrary: fc.constantFrom('break', 'break', 'reformat') },
)

const plan = fc.record({
  feed: fc.constantFrom('Electric' as const, 'Electric' as const, 'Gas' as const),
  format: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Format>('slashMinutes') },
    { weight: 2, arbitrary: fc.constantFrom(...(Object.keys(formats) as Format[])) },
  ),
  day: fc.constantFrom(...days),
  meters: fc.array(meter, { minLength: 1, maxLength: 5 }),
  byTime: fc.boolean(),
  moved: fc.constantFrom(0, 0, 1, 7),
  fates: fc.array(fate, { minLength: 40, maxLength: 40 }),
  broken: fc.infiniteStream(fc.constantFrom(...broken)),
  spoils: fc.boolean(),
  quantity: fc.infiniteStream(
    fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: 0, max: 9_999 }).map((n) => String(n / 1_000)) },
      { weight: 2, arbitrary: fc.constantFrom('0.1234565', '.5', '5.', '000012', '-0') },
      { weight: 1, arbitrary: fc.constantFrom('123456789012', '-1') },
    ),
  ),
  end: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('whole', 'unended', 'blank') },
    { weight: 1, arbitrary: fc.constant('cut' as const) },
  ),
  packing: fc.constantFrom('.csv', '.csv', '.csv.gz', '.zip'),
  /** A file over several chunks. */
  isLong: fc.constant<boolean>(false),
})

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

/** Files by a seed, the last one over several chunks of a megabyte. */
export function mixedFiles(options: {
  readonly seed: number
  readonly count: number
  readonly zone: Zone
}): readonly MixedFile[] {
  const plans = fc.sample(plan, { numRuns: options.count, seed: options.seed })
  return plans.map((one, index) => {
    const isLong = index === options.count - 1
    return toFile({ ...one, isLong, packing: isLong ? '.csv' : one.packing }, index, options.zone)
  })
}

function toFile(plan: Plan, index: number, zone: Zone): MixedFile {
  const rows = rowsOf(plan, index, zone)
  let text = [header, ...rows].join('\n')
  if (plan.end === 'whole') text += '\n'
  if (plan.end === 'blank') text += '\n\n\r\n'
  if (plan.end === 'cut') text = text.slice(0, text.lastIndexOf(',') - 3)
  const stem = `DEMO_25112024_${plan.feed}_${index}`
  const bytes = Buffer.from(text)
  const packed =
    plan.packing === '.csv.gz'
      ? gzipSync(bytes)
      : plan.packing === '.zip'
        ? zipOf({ name: `${stem}.csv`, bytes })
        : bytes
  return { name: `${stem}${plan.packing}`, bytes: packed, text }
}

interface Read {
  readonly meter: string
  readonly start: number
}

function rowsOf(plan: Plan, index: number, zone: Zone): readonly string[] {
  const reads = plan.meters.flatMap((one, number): readonly Read[] => {
    const first = zone.dayStart(plan.day) - one.lead * 3_600 + one.offset
    const count = plan.isLong ? 9_000 : one.count
    const meters = plan.isLong ? ['a', 'b', 'c'] : ['']
    return meters.flatMap((mark) =>
      Array.from({ length: count }, (_, place) => ({
        meter: `M${index}-${number}${mark}`,
        start: startOf({ first, length: one.length, place }, plan, zone),
      })),
    )
  })
  if (plan.byTime) reads.sort((a, b) => a.start - b.start)
  const rows: string[] = []
  for (const [place, read] of reads.entries()) {
    const fate = plan.fates[(place * 7 + (place >> 5)) % plan.fates.length] as Plan['fates'][number]
    for (const row of fated(fate, read, { plan, zone })) {
      const at = fate === 'correct' && plan.moved > 0 ? Math.max(0, rows.length - plan.moved) : -1
      if (at === -1) rows.push(row)
      else rows.splice(at, 0, row)
    }
  }
  return rows
}

/** Days follow each other on the calendar, other intervals on the clock. */
function startOf(
  at: { readonly first: number; readonly length: number; readonly place: number },
  { isLong }: Plan,
  zone: Zone,
): number {
  const length = isLong && at.length >= day ? 3_600 : at.length
  if (length < day) return at.first + at.place * length
  const wall = wallSeconds(zone.toWall(at.first)) + at.place * length
  return zone.toInstants(fromWallSeconds(wall))[0] ?? at.first + at.place * length
}

function fated(
  fate: Plan['fates'][number],
  read: Read,
  { plan, zone }: { readonly plan: Plan; readonly zone: Zone },
): readonly string[] {
  const wall = zone.toWall(read.start)
  const stamp = formats[plan.format](wall, wallSeconds(wall) - read.start)
  const [quantity = '0', other = '1'] = plan.quantity.take(2)
  const owner = [`A${read.meter}`, 'S']
  const row = [...owner, read.meter, stamp, quantity].join(',')
  switch (fate) {
    case 'stay':
      return [row]
    case 'drop':
      return []
    case 'repeat':
      return [row, row]
    case 'correct':
      return [row, [...owner, read.meter, stamp, other].join(',')]
    case 'reown':
      return [row, ['B', 'S', read.meter, stamp, quantity].join(',')]
    case 'quote':
      return [`"${owner[0]}", "S" ,"${read.meter}","${stamp}","${quantity}"`]
    case 'blanks':
      return [` ${owner[0]},S\t, ${read.meter},${stamp} ,${quantity}`]
    case 'blank line':
      return [row, '']
    case 'span':
      return [`"A\n""1""",S,${read.meter},${stamp},${quantity}`]
    case 'crlf':
      return [`${row}\r`]
    default:
      if (!plan.spoils) return [row]
      if (fate === 'reformat') return [`A,S,${read.meter},2024-07-04 00:00:00,1`]
      return [...plan.broken.take(1)].map((bad) => bad.replace('#', read.meter))
  }
}
