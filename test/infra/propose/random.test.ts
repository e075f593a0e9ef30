import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { renderSection } from '../../../infra/propose/section.js'
import { createZone } from '../../../schemas/time/zone.js'
import { runs } from '../../rig/sample.js'
import { openOf, proposalFor, readsBy, toTexts } from './loaded.js'
import type { TrueRead } from './sending.js'

const two = (value: number) => String(value).padStart(2, '0')

/** A column of a file: its name, its texts, and what a person would answer about it. */
interface SentColumn {
  readonly name: string
  readonly text: (read: TrueRead, row: number) => string
  readonly role?: 'meter' | 'time' | 'timeOfDay' | 'quantity' | 'account' | 'direction'
}

interface Drawn {
  readonly timeZone: string
  /** The zone whose clock writes the times. */
  readonly shown: string
  readonly clock: string
  readonly stamp: 'start' | 'end'
  readonly minutes: number
  readonly reads: readonly TrueRead[]
}

const zones = [
  'America/New_York',
  'America/Chicago',
  'Europe/Berlin',
  'Europe/London',
  'America/Phoenix',
]
const standards: Readonly<Record<string, string>> = {
  'America/New_York': 'America/Panama',
  'America/Chicago': 'America/Costa_Rica',
  'Europe/Berlin': 'Africa/Algiers',
  'Europe/London': 'Africa/Abidjan',
  'America/Phoenix': 'America/Phoenix',
}
const firstDays = [
  '2026-03-07',
  '2026-03-28',
  '2025-10-25',
  '2025-11-01',
  '2026-01-13',
  '2026-06-10',
  '2026-02-02',
]

const drawn: fc.Arbitrary<Drawn> = fc
  .record({
    timeZone: fc.constantFrom(...zones),
    clock: fc.constantFrom('wall', 'wall', 'standard', '+00:00'),
    stamp: fc.constantFrom('start' as const, 'start' as const, 'end' as const),
    minutes: fc.constantFrom(5, 15, 30, 60),
    day: fc.constantFrom(...firstDays),
    days: fc.integer({ min: 1, max: 3 }),
    cut: fc.constantFrom(0, 0, 3, 10),
    meters: fc.constantFrom(
      ['M-1'],
      ['55000001', '55000002'],
      ['10443720001234567', '10443720001234568', 'X9'],
    ),
    digits: fc.integer({ min: 1, max: 3 }),
    seed: fc.nat(1_000),
  })
  .map(({ timeZone, clock, stamp, minutes, day, days, cut, meters, digits, seed }) => {
    const zone = createZone(timeZone)
    const standard = standards[timeZone] as string
    const shown = clock === 'wall' ? timeZone : clock === 'standard' ? standard : 'UTC'
    const from = zone.dayStart(day)
    const count = (days * 86_400) / (minutes * 60) - cut
    const reads = meters.flatMap((meter, at) =>
      Array.from({ length: count }, (_, index) => ({
        meter,
        start: from + index * minutes * 60,
        quantity: ((((index + 1) * (at + 7) * 7_919 + seed) % 1_999) / 10 ** digits).toFixed(
          digits,
        ),
      })),
    )
    return { timeZone, shown, clock, stamp, minutes, reads }
  })

const named = {
  meter: ['Meter', 'MeterID', 'Device No.', 'ESIID', 'Serial Number', 'id'],
  start: ['Interval Start', 'Start', 'Time', 'Timestamp', 'x'],
  end: ['Interval Ending', 'End Time', 'Time', 'Timestamp', 'x'],
  quantity: ['kWh', 'Usage kWh', 'Usage', 'Value', 'Consumption', 'q'],
}

const noise: readonly SentColumn[] = [
  { name: 'Row', text: (_, row) => String(row) },
  { name: 'Cost', text: (_, row) => ((row * 31) % 97).toFixed(2) },
  { name: 'Temperature', text: (_, row) => (((row * 13) % 400) / 10).toFixed(1) },
  { name: 'Status', text: () => 'A' },
  { name: 'Quality Code', text: (_, row) => (row % 7 === 0 ? 'E' : 'A') },
  { name: 'Revision Date', text: () => '2026-11-01 06:05:00' },
  { name: 'kVARh', text: (_, row) => (((row * 17) % 300) / 100).toFixed(2) },
  { name: 'Factor', text: () => '1' },
  { name: 'Reading', text: (_, row) => (10_000 + row * 1.25).toFixed(2) },
  { name: 'Export kWh', text: () => '0.000' },
  { name: 'Flags', text: (_, row) => (row % 5 === 0 ? 'X' : '-') },
  { name: 'Account', text: ({ meter }) => `A${meter.length}`, role: 'account' },
  { name: 'Load Date', text: () => '2026-11-01' },
  { name: 'Tariff', text: () => 'R1' },
]

const layout = fc.record({
  drawn,
  dates: fc.constantFrom('mdy', 'dmy', 'iso', 'compact', 'split', 'offset'),
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  meterName: fc.constantFrom(...named.meter),
  timeName: fc.nat(4),
  quantityName: fc.constantFrom(...named.quantity),
  noise: fc.subarray(noise as SentColumn[], { maxLength: 4 }),
  order: fc.array(fc.nat(100), { minLength: 8, maxLength: 8 }),
  hasHeader: fc.boolean(),
  isComma: fc.boolean(),
  byTime: fc.boolean(),
  preamble: fc.nat(2),
})
type DrawnLayout = typeof layout extends fc.Arbitrary<infer T> ? T : never

function timeColumns({ drawn: one, dates, timeName }: DrawnLayout): readonly SentColumn[] {
  const at = ({ start }: TrueRead) => start + (one.stamp === 'end' ? one.minutes * 60 : 0)
  const zone = createZone(one.shown)
  const parts = (read: TrueRead) => {
    const { year, month, day, hour, minute } = zone.toWall(at(read))
    return { y: String(year), m: two(month), d: two(day), hm: `${two(hour)}:${two(minute)}` }
  }
  const name = named[one.stamp][timeName] as string
  const time = (text: SentColumn['text']): SentColumn => ({ name, text, role: 'time' })
  switch (dates) {
    case 'mdy':
      return [
        time((read) => `${parts(read).m}/${parts(read).d}/${parts(read).y} ${parts(read).hm}`),
      ]
    case 'dmy':
      return [
        time((read) => `${parts(read).d}.${parts(read).m}.${parts(read).y} ${parts(read).hm}`),
      ]
    case 'iso':
      return [
        time((read) => `${parts(read).y}-${parts(read).m}-${parts(read).d} ${parts(read).hm}:00`),
      ]
    case 'compact':
      return [
        time(
          (read) =>
            `${parts(read).y}${parts(read).m}${parts(read).d}${parts(read).hm.replace(':', '')}`,
        ),
      ]
    case 'split':
      return [
        { ...time((read) => `${parts(read).y}-${parts(read).m}-${parts(read).d}`), name: 'Date' },
        { name, text: (read) => parts(read).hm, role: 'timeOfDay' },
      ]
    default:
      return [time((read) => `${new Date(at(read) * 1_000).toISOString().slice(0, 19)}Z`)]
  }
}

/** The file, and what a person who knows it would answer. */
function write(one: DrawnLayout) {
  const { drawn: facts, delimiter, isComma, hasHeader, byTime, preamble } = one
  const decimal = isComma && delimiter !== ',' ? ',' : '.'
  const columns: SentColumn[] = [
    { name: one.meterName, text: ({ meter }) => meter, role: 'meter' },
    ...timeColumns(one),
    {
      name: one.quantityName,
      text: ({ quantity }) => quantity.replace('.', decimal),
      role: 'quantity',
    },
    ...one.noise.map((column) => ({ ...column, text: decimalOf(column, decimal) })),
  ]
  const placed = columns
    .map((column, at) => ({ column, place: one.order[at % one.order.length] as number }))
    .sort((a, b) => a.place - b.place)
    .map(({ column }) => column)
  const reads = byTime ? [...facts.reads].sort((a, b) => a.start - b.start) : facts.reads
  const rows = reads.map((read, at) => placed.map(({ text }) => text(read, at)).join(delimiter))
  const above = ['Export', 'Created by the system'].slice(0, preamble)
  const head = hasHeader ? [placed.map(({ name }) => name).join(delimiter)] : []
  const at = (role: SentColumn['role']) =>
    String(placed.findIndex((column) => column.role === role) + 1)
  const dateOrder = one.dates === 'dmy' ? 'DMY' : 'MDY'
  const answers: Readonly<Record<string, string>> = {
    '/commodity': 'Electric',
    'columns.meter': at('meter'),
    'columns.account': 'none',
    'columns.site': 'none',
    'columns.time': at('time'),
    'columns.timeOfDay': at('timeOfDay'),
    'columns.quantity': at('quantity'),
    'columns.generation': 'none',
    decimal: JSON.stringify(decimal),
    dateOrder,
    stamp: facts.stamp,
    clock: JSON.stringify(facts.clock),
    unit: 'kWh',
    isRegister: 'none',
  }
  return { file: `${[...above, ...head, ...rows].join('\n')}\n`, answers }
}

function decimalOf({ text }: SentColumn, decimal: string): SentColumn['text'] {
  return (read, row) => text(read, row).replace(/^(\d+)\.(\d+)$/, `$1${decimal}$2`)
}

const passesMax = 6

t.test('of a random layout each read comes out right, or the question comes before', async (t) => {
  const counts = { right: 0, asked: 0 }
  const property = fc.asyncProperty(layout, async (one) => {
    const { timeZone, reads } = one.drawn
    const { file, answers } = write(one)
    const given: Record<string, string> = { '/timeZone': timeZone }
    let proposal = await proposalFor({ file }, given)
    if (openOf(proposal).length === 0) counts.right++
    else counts.asked++
    for (let pass = 0; openOf(proposal).length > 0 && pass < passesMax; pass++) {
      for (const setting of openOf(proposal)) given[setting] = answers[setting] ?? 'none'
      proposal = await proposalFor({ file }, given)
    }
    const shown = `${file.slice(0, 300)}\n${renderSection(proposal)}`
    deepEqual(openOf(proposal), [], shown)
    const found = await readsBy({ file, timeZone }, proposal)
    const expected = toTexts(reads)
    const wrong = found.filter((read, at) => read !== expected[at])
    deepEqual([found.length, wrong.slice(0, 3)], [reads.length, []], shown)
  })
  const details = await fc.check(property, { numRuns: runs(40), seed: Date.now() & 0x7fffffff })
  const { seed, numRuns, errorInstance } = details
  t.notOk(details.failed, `${numRuns} layouts of seed ${seed}: ${errorInstance ?? 'all right'}`)
  t.ok(counts.asked > 0, 'some are asked about')
  t.comment(`seed ${details.seed}: ${counts.right} right at once, ${counts.asked} asked`)
})
