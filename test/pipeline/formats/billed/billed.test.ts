import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../../infra/package-root.js'
import { convert, profileWith, type Setting } from '../convert.js'
import { createLoader } from '../loading.js'
import { goldenFolder, samples } from '../samples.js'

const shared = join(packageRoot(import.meta.url), '..', 'shared', 'data', 'foreign')
const loader = await createLoader(t)

const consumption = (nmi: string, fields: readonly string[]) =>
  ['250', nmi, '11', '1', '11', '11', 'METSER1', 'E', ...fields, 'kWh', '20040407', '', ''].join()
const actual = ['006342.8', '20031005093055', 'A', '', '']
const market = (...lines: readonly string[]) =>
  ['100,NEM13,200401101030,MDA1,Ret1', ...lines, '900', ''].join('\n')

interface Sample {
  readonly standIn: string
  readonly periods: readonly (readonly [meter: string, first: string, last: string, kwh: string])[]
  readonly estimated: number
}

/** What each file of the market has, read by eye; generated ones replace them elsewhere. */
const marketFiles: Readonly<Record<string, Sample>> = {
  Example_NEM13_consumption_data: {
    standIn: market(
      consumption('VABC005890', [...actual, '7', '20040107100333', 'A', '', '', '1312.1']),
    ),
    periods: [['VABC005890-11', '2003-10-05', '2004-01-06', '1312.1']],
    estimated: 0,
  },
  Example_NEM13_forward_estimate: {
    standIn: market(
      consumption('VDEF005890', [
        '1',
        '20040108103055',
        'A',
        '',
        '',
        '2',
        '20040408000000',
        'E64',
        '',
        '',
        '111',
      ]),
      consumption('VDEF005890', [
        '1',
        '20040108103055',
        'A',
        '',
        '',
        '2',
        '20040408000000',
        'E64',
        '',
        '',
        '65',
      ]).replace(',11,11,METSER1', ',41,41,METSER1'),
    ),
    periods: [
      ['VDEF005890-11', '2004-01-08', '2004-04-07', '111'],
      ['VDEF005890-41', '2004-01-08', '2004-04-07', '65'],
    ],
    estimated: 2,
  },
}

t.test('each NEM13 file loads as billed periods, as a check says', async (t) => {
  for (const [name, sample] of Object.entries(marketFiles)) {
    const path = join(shared, 'nem13', `${name}.csv`)
    const file = existsSync(path) ? readFileSync(path) : Buffer.from(sample.standIn)
    const setting: Setting = { format: { name: 'nem13' }, feed: 'Billing' }
    const checked = await loader.check(file, setting)
    const { verdict, badRows } = await loader.load(file, setting)
    t.match(
      verdict,
      { status: 'published', rows: { accepted: sample.periods.length, rejected: 0 } },
      name,
    )
    t.same(badRows, [], name)
    const { fileName: _, ...expected } = verdict
    t.match(checked.verdict, expected, name)
    const estimates = `periods estimated by the sender: loaded: ${sample.estimated}`
    t.equal(verdict.notes?.includes(estimates) ?? false, sample.estimated > 0, name)
    const found = await loader.periods(sample.periods[0]?.[0].slice(0, 10) ?? '')
    t.same(
      found.map(({ meter, first, last, quantity, cost }) => [meter, first, last, quantity, cost]),
      sample.periods.map((one) => [...one, null]),
      name,
    )
  }
})

t.test(
  'the months of a Green Button file load with their costs, and the days do not',
  async (t) => {
    const setting = samples['green-button-months.xml'] as Setting
    const text = readFileSync(join(goldenFolder, 'green-button-months.xml'), 'utf8')
    const good = text
      .replace('>x<', '>5<')
      .replace(/<uom>169/, '<uom>119')
      .replace('ReadingType/9', 'ReadingType/3')
    const { verdict } = await loader.load(
      Buffer.from(good.replaceAll('UsagePoint/', 'UsagePoint/M')),
      setting,
    )
    t.match(verdict, { status: 'published', rows: { read: 8, accepted: 8 } }, verdict.reason ?? '')
    t.notOk(
      verdict.notes?.some((note) => /date/.test(note)),
      'no order of dates is claimed',
    )
    t.match(await loader.periods('MA-'), [
      {
        account: 'MA',
        meter: 'MA-forward',
        first: '2026-01-01',
        last: '2026-01-31',
        quantity: '812.345',
        cost: '12.345',
      },
      {
        meter: 'MA-forward',
        first: '2026-02-01',
        last: '2026-02-28',
        quantity: '700.001',
        cost: '10.00001',
      },
      { meter: 'MA-forward', first: '2026-03-01', last: '2026-03-31', quantity: '650', cost: null },
      {
        meter: 'MA-forward',
        first: '2026-04-01',
        last: '2026-04-30',
        quantity: '0.005',
        cost: null,
      },
      { meter: 'MA-reverse', first: '2026-01-01', last: '2026-01-31', quantity: '-15', cost: null },
    ])
  },
)

t.test('a Green Button file of months loads with its own total', async (t) => {
  const path = join(shared, 'green-button', 'samples', 'MonthlyOnlyElectricData.xml')
  if (!existsSync(path)) return t.comment('the golden file above replaces it')
  const setting: Setting = {
    format: { name: 'green-button', meter: 'L-{usagePoint}' },
    timeZone: 'America/Los_Angeles',
    feed: 'Billing',
  }
  const { verdict } = await loader.load(readFileSync(path), setting)
  t.match(verdict, { status: 'published', rows: { accepted: 14 }, quantity: { accepted: '9567' } })
})

t.test('a rejected period has the line, the text and the reason of its sender', async (t) => {
  const good = Array.from({ length: 200 }, (_, at) =>
    consumption(`REJ${at}`, [...actual, '7', '20040107100333', 'A', '', '', '1']),
  )
  const bad = consumption('REJX', [...actual, '7', '20031005235959', 'A', '', '', '4.5'])
  const signed = bad
    .replace('METSER1,E', 'METSER1,I')
    .replace('20031005235959', '20040107100333')
    .replace('4.5', '-1.5')
  const file = Buffer.from(market(...good, '550,N,,E,', bad, signed))
  const setting: Setting = { format: { name: 'nem13' }, feed: 'Billing' }
  const checked = await loader.check(file, setting)
  const { verdict, badRows } = await loader.load(file, setting)
  t.match(verdict, { status: 'published', rows: { accepted: 200, rejected: 2 } })
  t.equal(verdict.quantity?.rejected, '3')
  const detail = 'the current read is not on a later day than the previous'
  t.match(badRows, [
    { line: 203, column: '', code: 'BAD_RECORD', detail, row: bad },
    { line: 204, code: 'NEGATIVE', detail: /set generation: positive/, row: signed },
  ])
  t.same(checked.badRows, badRows)
})

t.test('a billed period replaces an estimate of it, whichever comes first', async (t) => {
  const setting: Setting = { format: { name: 'nem13' }, feed: 'Billing' }
  const of = (meter: string, method: string, quantity: string) =>
    consumption(meter, [...actual, '7', '20040108000000', method, '', '', quantity])
  const load = (lines: readonly string[], usage = {}) =>
    loader.load(Buffer.from(market(...lines)), { ...setting, usage })
  const [estimate, billed, guess] = [
    of('REPL', 'E64', '100'),
    of('REPL', 'A', '90'),
    of('REPL', 'E64', '80'),
  ]
  const read = { quantity: '90', quality: 'asSent' }
  await load([estimate])
  t.match(await loader.periods('REPL'), [{ quantity: '100', quality: 'estimated' }])
  t.match((await load([billed])).verdict, { restated: { rows: 1 } })
  t.match(await loader.periods('REPL'), [read])
  const { verdict } = await load([guess])
  t.match(verdict, { status: 'published', rows: { accepted: 0, superseded: 1 } })
  t.ok(verdict.notes?.some((note) => /^estimates that replace no read: 1;/.test(note)))
  t.match(await loader.periods('REPL'), [read])
  t.match((await load([guess], { estimates: 'replace' })).verdict, { restated: { rows: 1 } })
  t.match(await loader.periods('REPL'), [{ quantity: '80', quality: 'estimated' }])
  const both = await load([of('BOTH', 'A', '7'), of('BOTH', 'E64', '8')])
  t.match(both.verdict, { rows: { accepted: 1, superseded: 1 } })
  t.match(await loader.periods('BOTH'), [{ quantity: '7', quality: 'asSent' }])
  await load([of('BOTH', 'S14', '7')])
  t.match(await loader.periods('BOTH'), [{ quantity: '7', quality: 'substituted' }])
})

t.test('a file of the plain layout is read as such', async (t) => {
  const header =
    'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate,DocumentNumber'
  const setting: Setting = { format: { name: 'nem13' }, feed: 'Billing' }
  const file = Buffer.from(`${header}\nA,S,PLAIN1,2026-01-01,2026-01-31,5,,7.5,,,\n`)
  const { verdict } = await loader.load(file, setting)
  t.match(verdict, { status: 'published' })
  t.ok(verdict.notes?.some((note) => /read as such, not as nem13/.test(note)))
  t.match(await loader.periods('PLAIN1'), [{ quantity: '5', cost: '7.5' }])
})

t.test('another format or a cut file is refused with the setting to change', async (t) => {
  const setting: Setting = { format: { name: 'nem13' }, feed: 'Billing' }
  const refused = (text: string) => convert(text, setting)
  await t.rejects(refused('100,NEM12,202603020930,A,B\n'), {
    message: /line 1: expected 100,NEM13, found 100,NEM12; set files\.format\.Billing/,
  })
  const { ending } = await convert(market().replace('900\n', ''), setting)
  t.match(ending.cut, /no 900 record ends the file/)
  t.throws(
    () => profileWith({ format: { name: 'nem13', meter: '{nmi}' }, feed: 'Billing' }),
    /files\.format\.Billing\.meter: registers of one NMI would be one meter/,
  )
})

t.test(
  'a receipt counts the periods of each quality, also of a file of the plain layout',
  async (t) => {
    const header =
      'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate,Quality'
    const qualities = ['estimated', 'substituted', 'asSent', '', 'estimated', 'guess']
    const rows = qualities.map((one, at) => `A,S,SAID${at},2026-01-01,2026-01-31,5,,7.5,,,${one}`)
    const file = Buffer.from([header, ...rows, ''].join('\n'))
    const setting: Setting = { format: { name: 'nem13' }, feed: 'Billing' }
    const counted = [
      'periods estimated by the sender: loaded: 2',
      'periods substituted by the sender: loaded: 1',
    ]
    const byQuality = (notes: readonly string[] = []) =>
      notes.filter((note) => note.includes('by the sender'))
    const checked = await loader.check(file, setting)
    t.same(byQuality(checked.verdict.notes), counted)
    const { verdict } = await loader.load(file, setting)
    t.match(verdict, { rows: { accepted: 5, rejected: 1 } })
    t.same(byQuality(verdict.notes), counted)
    const period = (meter: string, method: string) =>
      consumption(meter, [...actual, '7', '20040108000000', method, '', '', '1'])
    const market13 = Buffer.from(market(period('SAIDE', 'E64'), period('SAIDS', 'S14')))
    t.same(byQuality((await loader.load(market13, setting)).verdict.notes), [
      'periods estimated by the sender: loaded: 1',
      'periods substituted by the sender: loaded: 1',
    ])
  },
)
