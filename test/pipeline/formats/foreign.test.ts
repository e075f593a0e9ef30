import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { createZone, toDay } from '../../../schemas/time/zone.js'
import type { Setting } from './convert.js'
import { createLoader, type LoadedMeter } from './loading.js'

/**
 * Files of other systems, where they are beside the project. Elsewhere generated files of the same
 * registers, lengths and totals replace them, so that every assertion is made on every machine.
 */
const shared = join(packageRoot(import.meta.url), '..', 'shared', 'data', 'foreign')
const isShared = existsSync(shared)
t.comment(isShared ? 'files of other systems' : 'generated files replace those of other systems')
const loader = await createLoader(t)

interface Register {
  readonly nmi: string
  readonly register: string
  readonly unit: string
  readonly minutes: number
  readonly first: string
  readonly days: number
  readonly sum: string
}

const of = (
  nmi: string,
  register: string,
  [unit, minutes, first, days, sum]: [string, number, string, number, string],
): Register => ({ nmi, register, unit, minutes, first, days, sum })

const month = of('NMI1234567', 'E1', ['kWh', 5, '20230301', 31, '270.738'])

/** What each file has by the README beside them. */
const valid: Readonly<Record<string, readonly Register[]>> = {
  actual_interval: [of('VABD000163', 'E1', ['kWh', 30, '20040201', 1, '53.328'])],
  upper_case_units: [of('VABD000163', 'E1', ['KWH', 30, '20040201', 1, '53.328'])],
  different_interval_length: [
    of('C123', 'E1', ['kWh', 30, '20040402', 1, '254']),
    of('C123', 'E2', ['kWh', 30, '20040402', 1, '120']),
  ],
  month_solar: [month, of('NMI1234567', 'B1', ['kWh', 5, '20230301', 31, '-589.172'])],
  multiple_meters: [
    of('NCDE001111', 'B1', ['Wh', 15, '20031204', 2, '-1.92']),
    of('NCDE001111', 'E1', ['Wh', 15, '20031204', 2, '1.92']),
    of('NCDE001111', 'E2', ['Wh', 15, '20031204', 2, '19.2']),
    of('NDDD001888', 'B1', ['Wh', 15, '20031204', 2, '-3.84']),
  ],
  multiple_quality: [of('CCCC123456', 'E1', ['kWh', 30, '20040417', 1, '896.99'])],
  no_scheduled_read: [of('NMI111', 'E1', ['KWH', 15, '20190904', 1, '5.84'])],
  partialchannel: [month, of('NMI1234567', 'B1', ['kWh', 5, '20230301', 1, '-23.166'])],
  substituted_interval: [of('VBCD000022', 'E1', ['kWh', 30, '20030801', 1, '110.976'])],
  WesternPower: [
    of('9999999999', 'B1', ['KWH', 30, '20230318', 1, '0']),
    of('9999999999', 'E1', ['KWH', 30, '20230318', 1, '0']),
  ],
}

const repeat = (count: number, text: string) => Array.from({ length: count }, () => text)
const header = '100,NEM12,202302241702,MDA1,RET1'
const day = (first: string, values: readonly string[], quality = 'A') =>
  ['300', first, ...values, quality, '', '', ''].join(',')
const channel = (minutes: number, register = 'E1', unit = 'kWh') =>
  `200,NMI1,E1,,${register},,,${unit},${minutes},`

function plusDays(first: string, days: number): string {
  const [year, monthOf, dayOf] = [first.slice(0, 4), first.slice(4, 6), first.slice(6)].map(Number)
  const date = new Date(Date.UTC(year as number, (monthOf as number) - 1, (dayOf as number) + days))
  return date.toISOString().slice(0, 10)
}

/** Its whole energy is in the first interval of the first day. */
function standIn(registers: readonly Register[]): string {
  const lines = registers.flatMap(({ nmi, register, unit, minutes, first, days, sum }) => {
    const size = sum.replace('-', '')
    const energy = unit === 'Wh' ? String(Number(size) * 1_000) : size
    const zeros = repeat(1_440 / minutes - 1, '0')
    const rows = Array.from({ length: days }, (_, at) =>
      day(plusDays(first, at).replaceAll('-', ''), [at === 0 ? energy : '0', ...zeros]),
    )
    return [`200,${nmi},,,${register},,,${unit},${minutes},`, ...rows]
  })
  return [header, ...lines, '900', ''].join('\n')
}

interface Refused {
  readonly standIn: () => string
  /** Why the file is refused as a whole, and rows of it that are rejected. */
  readonly reason: RegExp
  readonly rejected?: readonly (readonly [line: number, code: string, detail: RegExp])[]
}

const notHeader =
  /^HEADER: line 2: expected a 100 record, as NEM12 files begin; export the file again/
const allRejected = /^TOO_MANY_REJECTED: all 1 rows are not usable/
const countOf = (needed: string, found: number): NonNullable<Refused['rejected']> => [
  [3, 'INTERVAL_COUNT', new RegExp(`of ${needed} values, found ${found}$`)],
]
const block = (...lines: readonly string[]) => [header, ...lines, '900', ''].join('\n')
const ones = (count: number) => repeat(count, '1')
const withoutHeader = [channel(30), day('20040201', ones(48)), '900', ''].join('\n')

const invalid: Readonly<Record<string, Refused>> = {
  '15min_200_30min_300': {
    standIn: () => block(channel(15), day('20230225', ones(48), 'V'), '400,1,48,A'),
    reason: allRejected,
    rejected: countOf('15 minutes need 96', 48),
  },
  '15min_200_30min_400': {
    standIn: () => block(channel(15), day('20230225', ones(96), 'V'), '400,1,24,A', '400,25,48,N'),
    reason: allRejected,
    rejected: [[3, 'BAD_RECORD', /^its 400 records end with interval 48 of 96$/]],
  },
  '30min_200_15min_300': {
    standIn: () => block(channel(30), day('20230225', ones(96), 'V'), '400,1,48,A'),
    reason: allRejected,
    rejected: countOf('30 minutes need 48', 96),
  },
  '30min_200_15min_400': {
    standIn: () => block(channel(30), day('20230225', ones(96), 'V'), '400,1,48,V', '400,49,96,N'),
    reason: allRejected,
    rejected: countOf('30 minutes need 48', 96),
  },
  empty: { standIn: () => block(), reason: /^NO_ROWS: / },
  incomplete_interval: {
    standIn: () =>
      block(
        channel(30),
        day('20040201', [], 'V'),
        day('20040202', ones(48)),
        channel(30, 'Q1', 'kVArh'),
      ),
    // The other day is good: 48 reads to one record, so the file is published without it.
    reason: /^published$/,
    rejected: countOf('30 minutes need 48', 0),
  },
  missing_header: { standIn: () => `\n${withoutHeader}`, reason: notHeader },
  powercor: { standIn: () => `\n${withoutHeader}\n${withoutHeader}`, reason: notHeader },
  powercor_missing_fields: { standIn: () => `\n${withoutHeader}`, reason: notHeader },
  empty_file: { standIn: () => '', reason: /^EMPTY_FILE: / },
}

function fileOf(folder: string, name: string, other: () => string): Buffer {
  if (!isShared) return Buffer.from(other())
  const names = [`Example_NEM12_${name}.csv`, `Example_${name}.csv`]
  const path = names.map((one) => join(shared, folder, one)).find((one) => existsSync(one))
  return readFileSync(path ?? names.join(' or '))
}

t.test('every file beside the project is among these', async (t) => {
  const withoutKind = (names: readonly string[]) =>
    names.map((name) => name.replace(/^Example_|\.csv$/g, '').replace('NEM12_', '')).sort()
  for (const [folder, table] of Object.entries({ nem12: valid, 'nem12-invalid': invalid })) {
    const found = isShared ? readdirSync(join(shared, folder)) : Object.keys(table)
    t.same(withoutKind(found), withoutKind(Object.keys(table)), folder)
  }
})

t.test('each valid file loads with exactly its own totals', async (t) => {
  for (const [index, [name, registers]] of Object.entries(valid).entries()) {
    const file = fileOf('nem12', name, () => standIn(registers))
    const format = { name: 'nem12', meter: `F${index}-{nmi}-{register}` }
    const setting = { format }
    const checked = await loader.check(file, setting)
    const { verdict, badRows, meters } = await loader.load(file, setting)
    t.equal(verdict.status, 'published', name)
    t.same(badRows, [], name)
    const expected = registers.map((one): LoadedMeter => {
      const { nmi, register, minutes, first, days, sum } = one
      const reads = days * (1_440 / minutes)
      const meter = `F${index}-${nmi}-${register}`
      const [firstDay, lastDay] = [plusDays(first, 0), plusDays(first, days - 1)]
      return { meter, seconds: minutes * 60, reads, sum, firstDay, lastDay }
    })
    t.same(
      meters,
      expected.sort((a, b) => (a.meter < b.meter ? -1 : 1)),
      name,
    )
    t.match(checked, {
      verdict: { status: 'published', rows: verdict.rows, quantity: verdict.quantity },
    })
  }
})

interface FeedSample {
  readonly from: number
  /** 0 for billing periods, of which there are `days`. */
  readonly seconds: number
  readonly days: number
  readonly sum: string
  readonly feed?: 'Gas'
}

/** The Green Button samples: reads of days and hours, and files of billing periods alone. */
const feeds: Readonly<Record<string, FeedSample>> = {
  '1dayLP_45Days': { from: 1_330_578_000, seconds: 86_400, days: 45, sum: '2958.004' },
  '1hrLP_32Days': { from: 1_333_252_800, seconds: 3_600, days: 32, sum: '2354.843' },
  Electric: { from: 1_333_252_800, seconds: 0, days: 2, sum: '5965.053' },
  MonthlyOnlyElectricData: { from: 1_333_252_800, seconds: 0, days: 14, sum: '9567' },
  Gas: { from: 1_301_630_400, seconds: 0, days: 13, sum: '1074.821', feed: 'Gas' },
}

const zone = createZone('America/New_York')

function standInFeed({ from, seconds, days, sum, feed }: FeedSample): string {
  const each = seconds === 3_600 ? 24 : 1
  let start = from
  const lengthAt = (at: number) => (each > 1 ? seconds : zone.daySeconds(toDay(zone.toWall(at))))
  const readings = Array.from({ length: days * each }, (_, at) => {
    const length = seconds === 0 ? 2_592_000 : lengthAt(start)
    const value = at === 0 ? Math.round(Number(sum) * 1_000) : 0
    const text = `<IntervalReading><timePeriod><duration>${length}</duration><start>${start}</start></timePeriod><value>${value}</value></IntervalReading>`
    start += length
    return text
  })
  const entry = (links: string, content: string) =>
    `<entry>${links}<content>${content}</content></entry>`
  const link = (rel: string, href: string) => `<link rel="${rel}" href="${href}"/>`
  const address = 'RetailCustomer/1/UsagePoint/01/MeterReading/01'
  const codes = `<flowDirection>1</flowDirection><uom>${feed ? 169 : 72}</uom>`
  return [
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    entry(link('self', address) + link('related', 'ReadingType/1'), '<MeterReading/>'),
    entry(
      link('up', `${address}/IntervalBlock`),
      `<IntervalBlock>${readings.join('\n')}</IntervalBlock>`,
    ),
    entry(link('self', 'ReadingType/1'), `<ReadingType>${codes}</ReadingType>`),
    '</feed>',
  ].join('\n')
}

t.test('each Green Button file loads with its own totals, or says why not', async (t) => {
  for (const [index, [name, sample]] of Object.entries(feeds).entries()) {
    const path = join(shared, 'green-button', 'samples', `${name}.xml`)
    const file = isShared ? readFileSync(path) : Buffer.from(standInFeed(sample))
    const { from, seconds, days, sum, feed = 'Electric' } = sample
    const format = { name: 'green-button', meter: `G${index}-{usagePoint}` }
    const setting: Setting = { format, timeZone: 'America/New_York', feed }
    const checked = await loader.check(file, setting)
    const { verdict, badRows, meters } = await loader.load(file, setting)
    t.same(badRows, [], name)
    const { fileName: _, ...expected } = verdict
    t.match(checked.verdict, expected, name)
    if (seconds === 0) {
      t.match(verdict, { status: 'quarantined', reason: /^NO_ROWS/ }, name)
      const note = `intervals longer than a day (send them as Billing): not loaded: ${days}`
      t.ok(verdict.notes?.includes(note), `${name}: ${verdict.notes?.join()}`)
      continue
    }
    t.equal(verdict.status, 'published', name)
    const reads = days * (86_400 / seconds)
    const firstDay = toDay(zone.toWall(from))
    t.match(meters, [{ meter: `G${index}-01`, seconds, reads, sum, firstDay }], name)
  }
})

t.test(
  'each file that is not valid is refused or rejected, with its line and reason',
  async (t) => {
    for (const [index, [name, expected]] of Object.entries(invalid).entries()) {
      const file = fileOf('nem12-invalid', name, expected.standIn)
      const setting = { format: { name: 'nem12', meter: `I${index}-{nmi}-{register}` } }
      const checked = await loader.check(file, setting)
      const { verdict, badRows } = await loader.load(file, setting)
      t.match(verdict.reason ?? verdict.status, expected.reason, name)
      const { rejected = [] } = expected
      t.equal(badRows.length, rejected.length, name)
      for (const [at, [line, code, detail]] of rejected.entries()) {
        t.match(badRows[at], { line, code, detail, row: /^300,/ }, name)
      }
      t.same(checked.badRows, badRows, name)
      t.equal(checked.verdict.reason, verdict.reason, name)
    }
  },
)
