import t from 'tap'
import { toDays } from '../../../schemas/lint/finding.js'
import { createPriceBuckets } from '../../../schemas/rating/price-buckets.js'
import { createProjection, toProjectedBuckets } from '../../../schemas/rating/projection.js'
import { createSlots } from '../../../schemas/rating/slots.js'
import { createZone } from '../../../schemas/time/zone.js'

const zone = createZone('America/Detroit')
const sum = (stretches: readonly (readonly (readonly [number, number])[])[]) =>
  stretches.flat().reduce((all, [from, to]) => all + to - from, 0)

t.test('each hour ahead has past hours to be projected from, each day one noon', async (t) => {
  const ahead = { from: toDays('2026-03-05'), to: toDays('2026-03-14') }
  const slots = createSlots(zone, { from: ahead.from - 28, to: ahead.to + 1 }, 'wall')
  const holiday = toDays('2026-02-16')
  const projection = createProjection(slots, ahead, new Set([holiday]))
  t.same(projection.past, { from: toDays('2026-02-05'), to: toDays('2026-03-04') })
  const [working = 0, off = 0] = projection.needed
  t.equal(working + off, 2 ** 28 - 1, 'each day of the past is of one kind')
  t.equal(off.toString(2).replaceAll('0', '').length, 9, 'four weekends and a holiday')
  const classes = createPriceBuckets(slots.count, [projection.labels])
  const { pastTypes, hourTypes, quarters, noons } = toProjectedBuckets(projection, classes, slots)
  t.equal(sum(quarters), 10 * 96 - 4, 'one hour is skipped on 8 March')
  t.equal(sum(noons), 10)
  t.equal(new Set(pastTypes.filter((type) => type > 0)).size, 48)
  t.equal(pastTypes.filter((type) => type > 0).length, 48)
  t.same(
    hourTypes.map((bucket) => bucket > 0),
    quarters.map((own) => own.length > 0),
  )
})

t.test('the quarter hours of an hour type are counted through, whatever the classes', async (t) => {
  const ahead = { from: toDays('2026-06-01'), to: toDays('2026-06-07') }
  const slots = createSlots(zone, { from: ahead.from - 28, to: ahead.to + 1 }, 'wall')
  const projection = createProjection(slots, ahead, new Set())
  const late = Array.from(slots.day, (day) => Number(day > toDays('2026-06-03')))
  const halves = Array.from(slots.quarter, (quarter) => Number(quarter % 4 > 1))
  const classes = createPriceBuckets(slots.count, [projection.labels, late, halves])
  const { hourTypes, quarters, noons } = toProjectedBuckets(projection, classes, slots)
  const ofNoon = (all: typeof quarters) =>
    all.filter((_, bucket) => hourTypes[bucket] === 13).filter((own) => own.length > 0)
  t.same(ofNoon(quarters), [
    [
      [0, 3],
      [5, 8],
    ],
    [
      [10, 13],
      [15, 18],
    ],
    [
      [3, 5],
      [8, 10],
    ],
    [
      [13, 15],
      [18, 20],
    ],
  ])
  t.same(ofNoon(noons), [[[0, 3]], [[3, 5]]])
})

t.test('a kind of day that does not lie ahead is not asked for', async (t) => {
  const ahead = { from: toDays('2026-03-09'), to: toDays('2026-03-10') }
  const slots = createSlots(zone, { from: ahead.from - 28, to: ahead.to + 1 }, 'wall')
  t.equal(createProjection(slots, ahead, new Set()).needed.length, 1)
})
