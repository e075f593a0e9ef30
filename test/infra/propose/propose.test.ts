import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sampleProfile, withSection } from '../../../infra/propose/judge.js'
import { toSection } from '../../../infra/propose/section.js'
import { goldenFolder } from '../../pipeline/formats/samples.js'
import { layouts, unloadable } from './layouts.js'
import { openOf, proposalFor, readsBy, toTexts } from './loaded.js'

const otherDirection = /-(Received|Injectie Dag|1-1:2\.29\.0|2) /

const outcomes = { right: 0, asked: 0, wrong: 0 }

for (const layout of layouts) {
  t.test(layout.system, async (t) => {
    const { answers = {}, timeZone, reads } = layout
    const first = await proposalFor(layout, { '/timeZone': timeZone })
    const open = openOf(first)
    t.same(
      open.filter((setting) => !(setting in answers)),
      [],
      'nothing else is asked',
    )
    if (open.length > 0) {
      t.throws(() => withSection(sampleProfile, toSection(first)), { code: 'PROFILE' })
    }
    const proposal = await proposalFor(layout, { ...answers, '/timeZone': timeZone })
    t.same(openOf(proposal), [], 'the answers suffice')
    // The other direction of the channels has zeros only.
    const found = (await readsBy(layout, proposal)).filter((one) => !otherDirection.test(one))
    const isRight = t.same(found, toTexts(reads), 'each read has its meter, instant and quantity')
    if (!isRight) outcomes.wrong++
    else if (open.length === 0) outcomes.right++
    else outcomes.asked++
  })
}

for (const { system, file, says } of unloadable) {
  t.test(system, async (t) => {
    let text = ''
    try {
      const { findings } = await proposalFor({ file }, { '/timeZone': 'Europe/Paris' })
      const open = findings.filter(({ question }) => question !== undefined)
      text = open.map((one) => `${one.setting}: ${one.question} (${one.evidence})`).join('\n')
    } catch (error) {
      text = String(error)
    }
    t.match(text, says)
    outcomes.asked++
  })
}

const bothWays = [
  'Make,Serial,Read Start,kWh,Direction',
  ...Array.from({ length: 48 }, (_, at) => {
    const time = `2026-01-${13 + Math.floor(at / 24)} ${String(at % 24).padStart(2, '0')}:00`
    return `L,7,${time},1.${at},DEL\nL,7,${time},0.${at},REC`
  }),
  '',
].join('\n')

t.test(
  'an answer that gives rows one meter and time has a note that the last one counts',
  async (t) => {
    const answers = {
      '/timeZone': 'America/Detroit',
      'columns.generation': '{ column: Direction, is: [REC] }',
      clock: 'wall',
    }
    const says = /48 rows have the meter and time of another row, and another quantity/
    const lost = await proposalFor(
      { file: bothWays },
      { ...answers, 'columns.meter': '[Make, Serial]' },
    )
    t.match(lost.notes.join('\n'), says)
    const kept = await proposalFor(
      { file: bothWays },
      { ...answers, 'columns.meter': '[Serial, Direction]' },
    )
    t.notMatch(kept.notes.join('\n'), says)
  },
)

t.test('an answer for rows of several units has a note that all count as it', async (t) => {
  const row = (at: number, unit: string) => `M,2026-01-13 ${10 + at}:00,1.${at},${unit}`
  const fileOf = (units: readonly [string, string]) =>
    [
      'Meter,Read Start,Value,UOM',
      ...Array.from({ length: 9 }, (_, at) => row(at, units[at % 2] as string)),
      '',
    ].join('\n')
  const answers = { '/timeZone': 'America/Detroit', clock: 'wall', unit: 'kWh' }
  const mixed = await proposalFor({ file: fileOf(['kWh', 'Wh']) }, answers)
  t.match(mixed.notes.join('\n'), /"UOM" has kwh, wh: the quantities of all are loaded as kWh/)
  const { unit: _, ...others } = answers
  const same = await proposalFor({ file: fileOf(['kWh', 'KWH']) }, others)
  t.same(openOf(same), [], 'upper and lower case are one unit')
})

t.test('a column of multipliers is asked for, unless they are all 1', async (t) => {
  const askedFor = async (factors: readonly string[], name = 'Multiplier') => {
    const rows = factors.map((factor, at) => `M,2026-01-13 ${10 + at}:00,1${at},${factor}`)
    const file = [`Meter,Read Start,kWh,${name}`, ...rows, ''].join('\n')
    const answers = { '/timeZone': 'America/Detroit', clock: 'wall' }
    const { findings } = await proposalFor({ file }, answers)
    return findings.find(({ setting }) => setting === 'multiplier')?.question
  }
  t.match(await askedFor(['40', '40', '40']), /answer 40, or none if they are/i)
  t.match(await askedFor(['40', '80', '40'], 'CT Ratio'), /export the products/)
  t.equal(await askedFor(['1', '1.0', '1']), undefined)
})

t.test(
  'an empty hour that the clock skips shows that columns are hours of the clock',
  async (t) => {
    const proposalOf = async (names: readonly string[], answers: object = {}) => {
      const row = (day: string, hole: boolean) =>
        `M,${day},${names.map((_, at) => (at > 23 || (hole && at === 2) ? '' : '1.5')).join()}`
      const days = [row('2026-03-28', false), row('2026-03-29', true), row('2026-03-30', false)]
      const file = [`Meter,Day,${names.join()}`, ...days, ''].join('\n')
      const zone = { '/timeZone': 'Europe/Berlin', unit: 'kWh', '/commodity': 'Electric' }
      const proposal = await proposalFor({ file }, { ...zone, ...answers })
      const of = (wanted: string) =>
        proposal.findings.find(({ setting }) => setting === wanted)?.value
      return { open: openOf(proposal), clock: of('clock'), numbering: of('numbering') }
    }
    const names = (count: number) => Array.from({ length: count }, (_, at) => `H${at + 1}`)
    t.same(await proposalOf(names(24)), { open: [], clock: 'wall', numbering: 'clock' })
    t.same(
      await proposalOf(names(25)),
      { open: ['numbering'], clock: 'wall', numbering: undefined },
      'where the repeated hour is does not show',
    )
    t.same(await proposalOf(names(25), { numbering: 'none' }), {
      ...{ open: [], clock: 'wall', numbering: null },
    })
  },
)

t.test('the notes of NEM12 name suffixes, also where registers have numbers', async (t) => {
  const values = Array.from({ length: 48 }, () => '1').join()
  const channels = ['E1', 'B1', 'q1'].map(
    (suffix, at) => `200,NMI1,E1B1Q1,${at + 1},${suffix},,,kWh,30,\n300,20260113,${values},A,,,,`,
  )
  const file = ['100,NEM12,202601140000,MDA1,RET1', ...channels, '900', ''].join('\n')
  const { notes } = await proposalFor({ file }, { '/timeZone': 'Australia/Brisbane' })
  t.same(notes, [
    'registers: E1, B1, Q1; those that begin with E or B are loaded',
    'B1 is loaded as generation, below 0',
  ])
})

t.test('the unit of gas in a Green Button feed is that of the profile', async (t) => {
  const months = readFileSync(join(goldenFolder, 'green-button-months.xml'), 'utf8')
  const gasOf = (uom: string, seconds: number) =>
    months
      .replace(/<commodity>\d+</g, '<commodity>7<')
      .replace(/<uom>\d+</g, `<uom>${uom}<`)
      .replace(/<duration>\d+</g, `<duration>${seconds}<`)
  const unitOf = async (file: string) => {
    const proposal = await proposalFor({ file }, { '/timeZone': 'America/Detroit' })
    t.same(openOf(proposal), [])
    const section = toSection(proposal) as { usage?: { unit?: unknown } }
    t.doesNotThrow(() => withSection(sampleProfile, section))
    return section.usage?.unit
  }
  t.same(await unitOf(gasOf('169', 2_592_000)), { Gas: 'therm' }, 'billed periods')
  t.same(await unitOf(gasOf('42', 86_400)), { Gas: 'cm' })
  t.equal(await unitOf(gasOf('119', 86_400)), undefined, 'cubic feet are stored as ccf')
})

t.test('a unit and a multiplier that all rows have are expected of every row', async (t) => {
  const expectedOf = async (rest: string, header = 'Unit,Multiplier') => {
    const rows = Array.from({ length: 9 }, (_, at) => `M,2026-01-13 ${10 + at}:00,1${at},${rest}`)
    const file = [`Meter,Read Start,kWh,${header}`, ...rows, ''].join('\n')
    const answers = { '/timeZone': 'America/Detroit', clock: 'wall' }
    const { findings } = await proposalFor({ file }, answers)
    return findings.find(({ setting }) => setting === 'columns.expected')?.value
  }
  const unit = { column: 'Unit', is: ['kWh'] }
  t.same(await expectedOf('kWh,1'), [unit, { column: 'Multiplier', is: ['1'] }])
  t.same(await expectedOf('kWh,5', 'Unit,Factor'), [unit])
  t.equal(await expectedOf('North,5', 'Unit,Factor'), undefined, 'a unit of another kind')
})

t.test('an answer names the values of a day, whatever their columns are called', async (t) => {
  const times = Array.from(
    { length: 24 },
    (_, at) => `${at % 12 || 12}:00 ${at < 12 ? 'AM' : 'PM'}`,
  )
  const day = (date: string) =>
    `M,${date},${times.map((_, at) => `${date.slice(-1)}.${at}`).join()}`
  const days = Array.from({ length: 9 }, (_, at) => day(`2026-01-1${at + 1}`))
  const file = [`Meter,Day,${times.join()}`, ...days, ''].join('\n')
  const answers = { '/timeZone': 'America/Detroit', '/commodity': 'Electric' }
  const first = await proposalFor({ file }, answers)
  const { question } = first.findings.find(({ setting }) => setting === 'columns.quantity') ?? {}
  t.match(question, /--answer 'columns\.values=\{from: NAME, count: N\}'/)
  const values = '{from: 12:00 AM, count: 24}'
  const wide = await proposalFor({ file }, { ...answers, 'columns.values': values })
  t.same(openOf(wide), ['clock', 'unit'])
  const section = JSON.stringify(toSection(wide))
  t.match(section, /"values":\{"from":"12:00 AM","count":24\}/)
  t.match(section, /"interval":3600/)
  for (const wrong of ['{from: 12:00 AM, count: 23}', '{from: 13:00, count: 24}', '24']) {
    const refused = proposalFor({ file }, { ...answers, 'columns.values': wrong })
    await t.rejects(refused, { code: 'CONFIG' }, wrong)
  }
  const flagged = file.replace(
    /,(\d+:00 .M|[1-9]\.\d+)/g,
    (text) => `${text},${text.includes('M') ? 'Flag' : 0}`,
  )
  const mixed = proposalFor({ file: flagged }, { ...answers, 'columns.values': values })
  await t.rejects(mixed, { message: /"Flag" is between them/ }, 'flags are not taken for values')
})

t.test('no proposal is silently wrong', async (t) => {
  t.comment(`${outcomes.right} right at once, ${outcomes.asked} asked, ${outcomes.wrong} wrong`)
  t.equal(outcomes.wrong, 0)
  t.ok(layouts.length + unloadable.length >= 25)
})

t.test('hostile samples end with a fault or a question, and soon', async (t) => {
  const row = (count: number, text: string) => Array.from({ length: count }, () => text).join()
  const times = `${row(400, '2026-01-13 00:00')},1.5\n${row(400, '2026-01-13 00:15')},2.5\n`
  const cases: readonly (readonly [what: string, file: string])[] = [
    ['as many columns as fit into a line', `${row(30_000, '1')}\n${row(30_000, '2')}\n`],
    ['hundreds of columns of times', times],
    [
      'hundreds of meters by name',
      `${row(400, 'Meter')},Time\n${row(400, 'M1')},2026-01-13\n`.repeat(50),
    ],
    ['a quote without end', `"${'x'.repeat(100_000)}\n1,2\n`],
    ['one line without end', 'x,'.repeat(3_000_000)],
    [
      'bytes of a picture',
      Array.from({ length: 50_000 }, (_, at) => String.fromCharCode((at * 7_919) % 256)).join(''),
    ],
    ['delimiters only', ',,,\n'.repeat(10_000)],
    ['a header of marks', '\u202E=cmd,@x,+1\n2026-01-13,M1,1\n'],
    [
      'numbers beyond a double',
      `Meter,Time,kWh\n${'M1,2026-01-13 00:00,99999999999999999999999.5\n'.repeat(30)}`,
    ],
  ]
  for (const [what, file] of cases) {
    const found = await proposalFor({ file }, { '/timeZone': 'Europe/Paris' }).catch(
      (error: unknown) => error,
    )
    if (found instanceof Error)
      t.match(found, { code: /^(HEADER|NO_ROWS|ENCODING|EMPTY_FILE)$/ }, what)
    else t.not(openOf(found as Awaited<ReturnType<typeof proposalFor>>).length, 0, what)
  }
})
