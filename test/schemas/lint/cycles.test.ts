import t from 'tap'
import { lintSet } from '../../../schemas/lint/lint.js'
import { placed } from './placed.js'

function lint(...lines: readonly string[]) {
  const rows = { BillingCycles: placed('BillingCycles', ...lines) }
  const registered = {
    rates: [],
    cycles: [
      { cycleId: '07', meters: 4 },
      { cycleId: '7', meters: 1 },
    ],
  }
  const { errors, warnings } = lintSet('cycles', {
    rows,
    unknown: [],
    registered,
    fileDate: '2026-01-01',
  })
  return { errors: errors.map(({ at, code, detail }) => [at.line, code, detail]), warnings }
}

t.test('end dates are inclusive or exclusive, in one cycle not both', async (t) => {
  t.same(lint('7,2026-01-05,2026-02-03', '7,2026-02-04,2026-03-05').errors, [])
  t.same(lint('7,2026-01-05,2026-02-04', '7,2026-02-04,2026-03-06').errors, [])
  const { errors } = lint(
    '7,2026-01-05,2026-02-04',
    '7,2026-02-04,2026-03-06',
    '7,2026-03-07,2026-04-05',
  )
  t.equal(errors[0]?.[1], 'PERIOD_KINDS')
  t.match(
    errors[0]?.[2],
    /ends 2026-03-06 and the one that starts 2026-03-07.*inclusive.*2026-02-04/,
  )
})

t.test('a gap and an overlap name both dates, in whatever order the rows come', async (t) => {
  t.match(lint('7,2026-02-06,2026-03-07', '7,2026-01-05,2026-02-03').errors, [
    [
      2,
      'PERIOD_GAP',
      'there is a gap between the period that ends 2026-02-03 and the one that starts 2026-02-06',
    ],
  ])
  t.match(lint('7,2026-01-05,2026-02-03', '7,2026-02-01,2026-03-02').errors, [
    [
      3,
      'PERIOD_OVERLAP',
      'the period that ends 2026-02-03 and the one that starts 2026-02-01 overlap',
    ],
  ])
})

t.test('unusual lengths, unknown cycles and numbers that look alike are warned of', async (t) => {
  const { warnings } = lint(
    '7,2026-01-05,2026-01-20',
    '7,2026-01-21,2026-02-20',
    '7,2026-02-21,2026-03-22',
  )
  t.same(warnings, [
    'line 2: the period of cycle 7 from 2026-01-05 to 2026-01-20 has 16 days',
    'the cycles 7 and 07 look alike; write them in one way',
    '4 registered meters are in cycle 07, which has no period',
  ])
  t.same(
    lint('7,2026-01-01,2026-02-28', '7,2026-03-01,2026-04-30').warnings.length,
    2,
    'two months are usual too',
  )
})

t.test('a cycle with one period does as the others, or is warned of', async (t) => {
  const exclusive = ['8,2026-01-05,2026-02-04', '8,2026-02-04,2026-03-06']
  const unclear = (...lines: readonly string[]) =>
    lint(...lines).warnings.filter((one) => /one period/.test(one))
  t.same(unclear('7,2026-01-05,2026-02-04', ...exclusive), [])
  t.same(
    lint('7,2026-01-05,2026-02-10', '9,2026-01-05,2026-01-30', ...exclusive).warnings.slice(0, 2),
    [
      'line 2: the period of cycle 7 from 2026-01-05 to 2026-02-10 has 36 days',
      'the cycles 7 and 07 look alike; write them in one way',
    ],
    'the days are counted as its last day is',
  )
  t.match(unclear('7,2026-01-05,2026-02-04', '9,2026-01-05,2026-02-04'), [
    /^of cycle 7 and 1 more the file has one period, and no cycle shows/,
  ])
  t.match(
    unclear(
      '7,2026-01-05,2026-02-04',
      ...exclusive,
      '9,2026-01-05,2026-02-03',
      '9,2026-02-04,2026-03-05',
    ),
    [/^of cycle 7 the file has one period, and the other cycles do not agree whether/],
  )
})
