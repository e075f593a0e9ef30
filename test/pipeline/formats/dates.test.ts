import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { check, toEntries } from '../../../pipeline/check.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import { gather } from '../../../pipeline/groups/gather.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createLineByHand } from '../by-hand.js'
import { rememberJobs, runAll } from '../groups/rig.js'
import { profileWith, type Setting } from './convert.js'
import { goldenFolder, samples } from './samples.js'

const byHand = await createLineByHand(t)
const { store, folders, log } = byHand.context

const hours = Array.from({ length: 24 }, (_, at) => at)
const narrow = { meter: 'Meter', time: 'Time', quantity: 'Value' }
const wide = { meter: 'Meter', time: 'Day', values: { from: 'H0', count: 24 } }

interface Layout {
  readonly format: object
  readonly header: string
  readonly rows: (date: string) => readonly string[]
}

const atHours: Layout['rows'] = (date) => hours.map((hour) => `M,${date} ${hour}:00,1`)
const ofDay: Layout['rows'] = (date) => [`M,${date},${hours.map(() => '1').join(',')}`]
const wideHeader = `Meter,Day,${hours.map((hour) => `H${hour}`).join(',')}`

/** The dates are the same in each: what they prove must be, too. */
const layouts: Readonly<Record<string, Layout>> = {
  'the plain layout': {
    format: { name: 'tieline' },
    header: 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit',
    rows: (date) => hours.map((hour) => `M,M,M,${date} ${hour}:00,1`),
  },
  'a read in each row': {
    format: { name: 'csv', columns: narrow, interval: 3_600 },
    header: 'Meter,Time,Value',
    rows: atHours,
  },
  'a read in each row, at an offset': {
    format: { name: 'csv', columns: narrow, interval: 3_600, clock: '+10:00' },
    header: 'Meter,Time,Value',
    rows: atHours,
  },
  'date and time of day, at an offset, with points': {
    format: {
      ...{ name: 'csv', interval: 3_600, clock: '+10:00' },
      columns: { ...narrow, time: 'Date', timeOfDay: 'Time' },
    },
    header: 'Meter,Date,Time,Value',
    rows: (date) => hours.map((hour) => `M,${date.replaceAll('/', '.')},${hour}:00,1`),
  },
  'a day in each row': {
    format: { name: 'csv', columns: wide, interval: 3_600 },
    header: wideHeader,
    rows: ofDay,
  },
  'a day in each row, at an offset': {
    format: { name: 'csv', columns: wide, interval: 3_600, clock: '+10:00' },
    header: wideHeader,
    rows: ofDay,
  },
}

const cases: Readonly<Record<string, readonly [dates: readonly string[], proof: RegExp]>> = {
  'nothing proves an order': [['1/2/2026', '2/2/2026'], /^every date can be read both ways/],
  'the order of the profile': [['1/2/2026', '1/13/2026'], /^1\/13\/2026 has a second number/],
  'days first: a component above 12': [
    ['1/2/2026', '13/1/2026', '14/1/2026'],
    /^13\/1\/2026 has a first number above 12/,
  ],
  'days first: a date in the future': [['5/2/2026'], /^5\/2\/2026 lies after the file's date/],
  'days first: three days in succession': [
    ['1/2/2026', '2/2/2026', '3/2/2026'],
    /^three dates from .* only if read DMY/,
  ],
  'both orders': [['1/13/2026', '14/1/2026'], /above 12.*; .*above 12/],
  'two orders by weaker evidence': [
    ['1/2/2026', '2/2/2026', '3/2/2026', '2/12/2026'],
    /^contradictory: /,
  ],
}

let files = 0
const nextName = () => `DEMO_04032026_Electric_${++files}.csv`

async function receiptOf(file: Buffer | string, setting: Setting) {
  const path = join(folders.inbox, nextName())
  writeFileSync(path, file)
  const profile = profileWith(setting)
  const [found] = await check(await toEntries([path]), { profile, store, folders, log })
  return found?.receipt
}

async function judge({ format, header, rows }: Layout, dates: readonly string[]) {
  const text = `${[header, ...dates.flatMap(rows)].join('\n')}\n`
  const { status, reason, dateOrder, dateOrderProof } = (await receiptOf(text, { format })) ?? {}
  return { status, reason, dateOrder, dateOrderProof }
}

for (const [what, [dates, proof]] of Object.entries(cases)) {
  t.test(`dates of every layout prove what those of the plain layout prove: ${what}`, async (t) => {
    const [[, plain], ...others] = Object.entries(layouts) as [
      [string, Layout],
      ...[string, Layout][],
    ]
    const expected = await judge(plain, dates)
    t.match(expected.dateOrderProof, proof)
    for (const [name, layout] of others) t.same(await judge(layout, dates), expected, name)
  })
}

t.test('the order of the format is that which counts, and the receipt names it', async (t) => {
  const { header, rows, format } = layouts['a day in each row'] as Layout
  const own = { header, rows, format: { ...format, dateOrder: 'DMY' } }
  const right = await judge(own, ['13/1/2026'])
  t.match(right, { status: 'published', dateOrder: 'DMY', dateOrderProof: /^13\/1\/2026 has/ })
  const wrong = await judge(own, ['1/13/2026'])
  t.match(wrong, {
    status: 'quarantined',
    reason:
      /^DATE_ORDER: the file is written MDY, dateOrder of the profile is DMY: 1\/13\/2026 has/,
  })
})

t.test('dates that need no order prove none, and say so', async (t) => {
  const layout = layouts['a day in each row'] as Layout
  const found = await judge(layout, ['2026-01-13', '20260114'])
  t.match(found, {
    status: 'published',
    dateOrderProof: /^no timestamp begins with a day or month/,
  })
})

t.test('the receipt names the timestamps of the file, not of the rows made of it', async (t) => {
  const csv = (more: object = {}) => ({ name: 'csv', columns: narrow, interval: 3_600, ...more })
  const apart = { columns: { ...narrow, time: 'Date', timeOfDay: 'Time' } }
  const rows = (...times: readonly string[]) =>
    ['Meter,Time,Value', ...times.map((time) => `M,${time},1`), ''].join('\n')
  const split = (date: string, time: string) => `Meter,Date,Time,Value\nM,${date},${time},1\n`
  const wideText = [wideHeader, ...ofDay('1/13/2026'), ''].join('\n')
  const wideFormat = (layouts['a day in each row'] as Layout).format
  const minutes = 'M/D/YYYY H:MM'
  const cases: readonly (readonly [text: string, format: object, expected: string | null])[] = [
    [rows('1/13/2026 1:00', '1/13/2026 2:00'), csv(), minutes],
    [rows('1/13/2026 1:00', 'Total', '1/13/2026 2:00'), csv(), minutes],
    [rows('1/13/2026 1:00'), csv({ clock: '+10:00' }), minutes],
    [rows('2026-01-13T01:00:00Z'), csv({ clock: '+10:00' }), 'YYYY-MM-DD HH:MM:SS with offset'],
    [split('1/13/2026', '1:00'), csv(apart), minutes],
    [split('1/13/2026', '0100'), csv(apart), null],
    [rows('20260113T0100'), csv(), null],
    [rows('13.01.2026 1:00'), csv({ dateOrder: 'DMY' }), null],
    [rows('2026-01-13 01:00', '20260113T0200'), csv(), null],
    [wideText, wideFormat, 'M/D/YYYY'],
    [wideText, { ...wideFormat, clock: '+10:00' }, 'M/D/YYYY'],
    [wideText.replace('1/13/2026', '20260113'), wideFormat, null],
  ]
  for (const [text, format, expected] of cases) {
    const receipt = await receiptOf(text, { format })
    t.match(receipt, { status: 'published', timestampFormat: expected }, text.slice(-80))
  }
  for (const file of ['nem12.csv', 'green-button.xml']) {
    const own = { ...(samples[file] as Setting), usage: { futureHours: 87_600 } }
    const receipt = await receiptOf(readFileSync(join(goldenFolder, file)), own)
    t.match(receipt, { status: 'published', timestampFormat: null }, file)
  }
})

t.test('small files that wait together are refused as each by itself', async (t) => {
  const { format, header, rows } = layouts['a day in each row'] as Layout
  const setting: Setting = { format }
  const profile = profileWith(setting)
  const context: PipelineContext = {
    ...byHand.context,
    profile,
    zone: createZone(profile.timeZone),
  }
  const line = { ...byHand, context }
  const queued = rememberJobs(line)
  const sent = [
    { meter: 'G1', dates: ['1/2/2026', '2/2/2026', '3/2/2026'] },
    { meter: 'G2', dates: ['1/2/2026'] },
    { meter: 'G3', dates: ['1/2/2026', '2/2/2026'] },
  ]
  const arrivals: number[] = []
  for (const { meter, dates } of sent) {
    const lines = dates.flatMap(rows).map((row) => row.replace('M,', `${meter},`))
    arrivals.push((await line.arrive(nextName(), lines, header)).arrival)
  }
  await gather(context, arrivals)
  await runAll(line, queued)
  const states = await Promise.all(arrivals.map((arrival) => context.ledger.state(arrival)))
  t.match(states, [
    { status: 'quarantined', fault: 'DATE_ORDER', notes: { dateOrder: 'DMY' } },
    { status: 'published', notes: { dateOrderProof: /^every date can be read both ways/ } },
    { status: 'published', notes: { dateOrderProof: /^every date can be read both ways/ } },
  ])
  for (const state of states) t.equal(state?.notes.timestampFormat, 'M/D/YYYY')
})
