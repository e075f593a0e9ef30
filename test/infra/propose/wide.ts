import { createZone } from '../../../schemas/time/zone.js'
import {
  clockAt,
  comma,
  eastern,
  type Layout,
  type Named,
  newYork,
  send,
  type Times,
  type TrueRead,
  toLayout,
  two,
  winter,
} from './sending.js'

/** A row for each day, with a column for each interval. */
function wideLayout(
  named: Named,
  {
    head,
    days,
    minutes,
    meters,
    row,
  }: Omit<Times, 'zone'> & {
    readonly head: readonly string[]
    readonly meters: readonly string[]
    readonly row: (
      meter: string,
      day: ReturnType<typeof clockAt>,
      values: readonly string[],
    ) => string
  },
): Layout {
  const { zone } = named
  const { reads } = send({ zone, meters, days, minutes, row: () => '' })
  const byDay = new Map<string, TrueRead[]>()
  for (const read of reads) {
    const key = `${read.meter} ${clockAt(zone, read.start).iso}`
    byDay.set(key, [...(byDay.get(key) ?? []), read])
  }
  const rows = [...byDay.values()].map((day) => {
    const [first] = day as [TrueRead]
    return row(
      first.meter,
      clockAt(zone, first.start),
      day.map(({ quantity }) => quantity),
    )
  })
  return toLayout(named, [...head, ...rows], reads)
}

const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${prefix}${at + 1}`)
const padded = (values: readonly string[], count: number) => [
  ...values,
  ...Array.from({ length: count - values.length }, () => ''),
]

/** Samples with a day in each row. */
export const wide: readonly Layout[] = [
  wideLayout(
    {
      system: 'Italian distributor, a day in a row',
      zone: createZone('Europe/Rome'),
      answers: { unit: 'kWh', '/commodity': 'Electric' },
    },
    {
      head: [`POD;Data;Tipo;${numbered('E', 100).join(';')}`],
      days: ['2026-03-14', '2026-03-20'],
      minutes: 15,
      meters: ['IT001E00000001'],
      row: (meter, { dmy }, values) =>
        `${meter};${dmy.replaceAll('.', '/')};A;${padded(values, 100).map(comma).join(';')}`,
    },
  ),
  wideLayout(
    {
      system: 'hourly export of a cooperative, a day in a row',
      zone: newYork,
      answers: { clock: 'standard' },
    },
    {
      head: [`Meter Number,Read Date,UOM,${numbered('HE', 24).join()}`],
      days: winter,
      minutes: 60,
      meters: ['1001', '1002'],
      row: (meter, { iso }, values) => `${meter},${iso},kWh,${values.join()}`,
    },
  ),
  wideLayout(
    {
      system: 'tower collector, columns named by the time',
      zone: eastern,
      answers: { clock: 'wall' },
    },
    {
      head: [
        `Meter,Date,Total kWh,${Array.from({ length: 96 }, (_, at) => `${two(Math.floor(at / 4))}:${two((at % 4) * 15)} kWh`).join()}`,
      ],
      days: ['2026-01-13', '2026-01-18'],
      minutes: 15,
      meters: ['T1', 'T2'],
      row: (meter, { iso }, values) => `${meter},${iso},9.9,${values.join()}`,
    },
  ),
]
