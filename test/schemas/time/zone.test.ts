import fc from 'fast-check'
import { test } from 'tap'
import {
  createZone,
  fromWallSeconds,
  nextDay,
  toDay,
  type Wall,
  wallSeconds,
} from '../../../schemas/time/zone.js'
import { someOf } from '../../rig/sample.js'
import { sampled } from '../sampled.js'

const zonesOfNote = [
  'America/Detroit',
  'America/Chicago',
  'America/Phoenix',
  'America/St_Johns',
  'America/Toronto',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'America/Havana',
]
const at = (text: string): number => Date.parse(text) / 1_000
const wallOf = (text: string): Wall => fromWallSeconds(at(`${text}Z`))
const spell = (wall: Wall): string => new Date(wallSeconds(wall) * 1_000).toISOString().slice(0, 19)

/** What Intl says, by another locale and another way of reading it: `2018-01-04T00:15:00`. */
function intlOf(timeZone: string): (epochSeconds: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  return (epochSeconds) => format.format(epochSeconds * 1_000).replace(' ', 'T')
}

test('the wall clock of every zone is that of Intl from 1970 to 2105', async (t) => {
  const zones = [...Intl.supportedValuesOf('timeZone'), ...zonesOfNote]
  const made = new Map(zones.map((name) => [name, { zone: createZone(name), intl: intlOf(name) }]))
  const instant = fc.integer({ min: 0, max: at('2106-01-01T00:00Z') })
  sampled(
    t,
    fc.property(fc.constantFrom(...zones), instant, (name, epochSeconds) => {
      const { zone, intl } = made.get(name) ?? { zone: undefined, intl: undefined }
      const wall = zone?.toWall(epochSeconds)
      if (wall === undefined) return false
      return (
        spell(wall) === intl?.(epochSeconds) &&
        zone?.toInstants(wall).includes(epochSeconds) === true
      )
    }),
    500,
  )
})

test('a wall time has exactly the instants at which Intl shows it', async (t) => {
  for (const name of someOf(zonesOfNote, 3)) {
    const [zone, intl] = [createZone(name), intlOf(name)]
    const shown = new Map<string, number[]>()
    const [from, to] = [at('2022-12-29T00:00Z'), at('2025-01-03T00:00Z')]
    for (let instant = from; instant < to; instant += 900) {
      const wall = intl(instant)
      shown.set(wall, [...(shown.get(wall) ?? []), instant])
    }
    const wrong: string[] = []
    for (let seconds = at('2023-01-01T00:00Z'); seconds < at('2025-01-01T00:00Z'); seconds += 900) {
      const wall = fromWallSeconds(seconds)
      if (`${zone.toInstants(wall)}` !== `${shown.get(spell(wall)) ?? []}`) wrong.push(spell(wall))
    }
    t.same(wrong, [], name)
  }
})

test('a skipped hour has no instant, a repeated one daylight before standard time', async (t) => {
  const detroit = createZone('America/Detroit')
  t.same(detroit.toInstants(wallOf('2017-03-12T02:00')), [])
  t.same(detroit.toInstants(wallOf('2017-03-12T02:59:59')), [])
  t.same(detroit.toInstants(wallOf('2017-03-12T03:00')), [at('2017-03-12T07:00Z')])
  t.same(detroit.toInstants(wallOf('2017-11-05T01:00')), [
    at('2017-11-05T05:00Z'),
    at('2017-11-05T06:00Z'),
  ])
  const lordHowe = createZone('Australia/Lord_Howe')
  t.same(lordHowe.toInstants(wallOf('2023-10-01T02:15')), [])
  t.equal(lordHowe.toInstants(wallOf('2023-04-02T01:45')).length, 2)
})

test('a day is as long as its zone makes it', async (t) => {
  const rows: [string, string, number][] = [
    ['America/Detroit', '2017-03-12', 82_800],
    ['America/Detroit', '2017-11-05', 90_000],
    ['America/Detroit', '2017-07-04', 86_400],
    ['America/Phoenix', '2017-03-12', 86_400],
    ['Australia/Lord_Howe', '2023-10-01', 84_600],
    ['Australia/Lord_Howe', '2023-04-02', 88_200],
    ['America/Havana', '2023-03-12', 82_800],
    ['America/Havana', '2023-11-05', 90_000],
    ['Pacific/Apia', '2011-12-30', 0],
  ]
  for (const [name, day, seconds] of rows)
    t.equal(createZone(name).daySeconds(day), seconds, `${name} ${day}`)
  t.equal(createZone('America/Havana').dayStart('2023-03-12'), at('2023-03-12T05:00Z'))
})

test('the days of every zone follow each other without gap or overlap', async (t) => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), ...zonesOfNote)
  const days = fc.integer({ min: 0, max: 135 * 365 }).map((n) => toDay(fromWallSeconds(n * 86_400)))
  const cache = new Map<string, ReturnType<typeof createZone>>()
  sampled(
    t,
    fc.property(zones, days, (name, day) => {
      const zone = cache.get(name) ?? createZone(name)
      cache.set(name, zone)
      const start = zone.dayStart(day)
      const shown = toDay(zone.toWall(start))
      return (
        (shown === day || zone.daySeconds(day) === 0) &&
        toDay(zone.toWall(start - 1)) < shown &&
        start + zone.daySeconds(day) === zone.dayStart(nextDay(day))
      )
    }),
    500,
  )
})

test('standard time is the clock without daylight time, north and south', async (t) => {
  const rows: [string, number][] = [
    ['America/Detroit', -5],
    ['America/Chicago', -6],
    ['America/Phoenix', -7],
    ['America/St_Johns', -3.5],
    ['Australia/Lord_Howe', 10.5],
    ['Europe/Dublin', 0],
  ]
  for (const [name, hours] of rows)
    t.equal(createZone(name).standardOffsetSeconds(2018), hours * 3_600, name)
})

test('the instant of a clock change lies between two instants around it', async (t) => {
  const detroit = createZone('America/Detroit')
  const change = at('2025-11-02T06:00Z')
  for (const [from, to] of [
    [change - 3_600, change],
    [change - 1, change + 3_599],
  ] as const)
    t.equal(detroit.changeWithin(from, to), change)
  const lordHowe = createZone('Australia/Lord_Howe')
  const before = at('2026-04-04T14:45Z')
  t.equal(lordHowe.changeWithin(before, before + 1_800), at('2026-04-04T15:00Z'))
  t.equal(detroit.changeWithin(0, 10), 10, 'there is none')
})

test('a name that the store would not know is refused with the remedy', async (t) => {
  for (const name of [
    'Mars/Olympus',
    '',
    'america/detroit',
    'AMERICA/DETROIT',
    '+05:00',
    ' America/Detroit',
  ])
    t.throws(
      () => createZone(name),
      { code: 'PROFILE', message: /IANA name such as/ },
      JSON.stringify(name),
    )
  t.equal(createZone('US/Eastern').timeZone, 'US/Eastern', 'an older name of the database is known')
})

test('a million wall hours have a million instants, in order, each with its wall time', async (t) => {
  const zone = createZone('America/Detroit')
  const began = process.cpuUsage().user
  let [found, wrong, last] = [0, 0, Number.NEGATIVE_INFINITY]
  for (let hour = 0; hour < 1_000_000; hour += 1) {
    const seconds = hour * 3_600
    for (const instant of zone.toInstants(fromWallSeconds(seconds))) {
      found += 1
      if (wallSeconds(zone.toWall(instant)) !== seconds) wrong += 1
      // Skipped and repeated wall hours included, the instants follow each other by the hour.
      if (instant !== last + 3_600 && found > 1) wrong += 1
      last = instant
    }
  }
  const seconds = (process.cpuUsage().user - began) / 1e6
  t.equal(wrong, 0)
  t.equal(found, 1_000_000, 'from winter to winter as many hours are skipped as repeated')
  t.ok(seconds < 8, `${seconds} s of processor time for two million conversions`)
})
