import { grouped } from '../commands/output/table.js'
import { counted, missing, percentOf } from './amounts.js'
import { nothing } from './bills.js'
import { linesMax } from './chart.js'
import { figure, tableOf } from './elements.js'
import type { DayFact, ReportFacts, ShapeFact } from './facts.js'
import { html, type Markup } from './html.js'

const rest =
  'Nothing is expected on the other days, which are outside the span of the stored reads.'

/** Expected and present reads of each day. */
export function completenessSection({ days }: ReportFacts): Markup {
  const sum = (of: (day: DayFact) => number) => days.reduce((all, day) => all + of(day), 0)
  const [expected, present] = [sum((day) => day.expected), sum((day) => day.present)]
  const short = days.filter((day) => day.present < day.expected).length
  const known = days.filter((day) => day.known > 0).length
  const all = counted(days.length, 'day')
  const summary = [
    `On ${known === days.length ? '' : `${known} of `}${all}, ${grouped(present)} of ${grouped(expected)} expected reads are present (${percentOf(present, expected)}).`,
    `Reads are missing on ${short} of ${counted(known, 'day')}.`,
    ...(known < days.length ? [rest] : []),
  ].join(' ')
  const seriesOf = (of: (day: DayFact) => number) =>
    days.map((day) => (day.known === 0 ? null : of(day)))
  const count = (of: (day: DayFact) => number) => (day: DayFact) =>
    day.known === 0 ? missing : grouped(of(day))
  if (known === 0) {
    return html`<section><h2>Completeness</h2>${nothing('All days are outside the span of the stored reads of these meters.')}</section>`
  }
  return html`<section><h2>Completeness</h2>
${figure(
  { title: 'Reads by day', summary },
  {
    kind: 'bars',
    labels: days.map(({ day }) => day.slice(5)),
    unit: 'reads',
    lines: [
      { label: 'expected', values: seriesOf((day) => day.expected) },
      { label: 'present', values: seriesOf((day) => day.present) },
    ],
  },
  tableOf(
    'Silent meters have no read of the day: their usual interval is expected. Partial meters lack some. For meters without data nothing is expected: none of their reads is that old, or none is stored',
    [
      { title: 'day', cell: ({ day }) => day },
      { title: 'meters', right: true, cell: ({ meters }) => grouped(meters) },
      { title: 'expected', right: true, cell: count((day) => day.expected) },
      { title: 'present', right: true, cell: count((day) => day.present) },
      { title: 'share', right: true, cell: (day) => percentOf(day.present, day.expected) },
      { title: 'silent', right: true, cell: count((day) => day.silent) },
      { title: 'partial', right: true, cell: count((day) => day.partial) },
      { title: 'without data', right: true, cell: ({ meters, known }) => grouped(meters - known) },
    ],
    days,
  ),
)}
</section>
`
}

const hours = Array.from({ length: 24 }, (_, hour) => hour)
const clock = (hour: number) => `${String(hour).padStart(2, '0')}:00`

/** The average hour of a meter by rate, a chart for each commodity and unit. */
export function shapeSection({ shape }: ReportFacts): Markup {
  const kinds = new Map<string, ShapeFact[]>()
  for (const row of shape) {
    const kind = `${row.commodity}, ${row.unit}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), row])
  }
  return html`<section><h2>Load shape</h2>
${
  shape.length === 0
    ? nothing('No registered meter of the cycle has reads of an hour or less in the period.')
    : [...kinds.values()].map(shapeFigure)
}
</section>
`
}

interface Rate {
  readonly code: string
  readonly meters: number
  /** By hour; null without reads. */
  readonly values: readonly (number | null)[]
}

function shapeFigure(rows: readonly ShapeFact[]): Markup {
  const { commodity = '', unit = '' } = rows[0] ?? {}
  const measure = unit === 'kWh' ? 'kW' : `${unit} per hour`
  const rates = ratesOf(rows)
  const drawn = rates.slice(0, linesMax)
  const more = rates.length - drawn.length
  const title = `${commodity} by hour and rate`
  const summary = [
    `Average of a meter in ${measure}, by hour of the local day.`,
    ...(more > 0
      ? [`The chart has the ${linesMax} rates with the most meters of ${rates.length}.`]
      : []),
  ].join(' ')
  return figure(
    { title, summary },
    {
      kind: 'steps',
      labels: hours.map(clock),
      unit: measure,
      lines: drawn.map(({ code, values }) => ({ label: code || 'no rate', values })),
    },
    tableOf(
      `Average in ${measure}`,
      [
        { title: 'hour', cell: clock },
        ...rates.map(({ code, meters, values }) => ({
          title: `${code || 'no rate'} (${counted(meters, 'meter')})`,
          right: true,
          cell: (hour: number) => values[hour]?.toFixed(3) ?? missing,
        })),
      ],
      hours,
    ),
  )
}

/** The rate with the most meters first. */
function ratesOf(rows: readonly ShapeFact[]): readonly Rate[] {
  const codes = [...new Set(rows.map(({ rateCode }) => rateCode))]
  const rates = codes.map((code) => {
    const own = rows.filter(({ rateCode }) => rateCode === code)
    const values = hours.map((hour) => own.find((row) => row.hour === hour)?.perHour ?? null)
    return { code, meters: Math.max(...own.map(({ meters }) => meters)), values }
  })
  return rates.sort((a, b) => b.meters - a.meters || (a.code < b.code ? -1 : 1))
}
