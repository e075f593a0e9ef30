import t from 'tap'
import { toDays } from '../../../schemas/lint/finding.js'
import { createPriceBuckets } from '../../../schemas/rating/price-buckets.js'
import { createProjection, toProjectedBuckets } from '../../../schemas/rating/projection.js'
import { createSlots } from '../../../schemas/rating/slots.js'
import { createZone } from '../../../schemas/time/zone.js'

const zone = createZone('America/Detroit')
const sum = (sizes: readonly number[]) => sizes.reduce((all, one) => all + one, 0)

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
  const { past, hourTypes, quarters, noons } = toProjectedBuckets(projection, classes, slots)
  t.equal(sum(quarters), 10 * 96 - 4, 'one hour is skipped on 8 March')
  t.equal(sum(noons), 10)
  t.equal(past.filter((own) => own.length === 1).length, 48)
  t.same(
    hourTypes.map((bucket) => bucket > 0),
    quarters.map((size) => size > 0),
  )
})

t.test('a kind of day that does not lie ahead is not asked for', async (t) => {
  const ahead = { from: toDays('2026-03-09'), to: toDays('2026-03-10') }
  const slots = createSlots(zone, { from: ahead.from - 28, to: ahead.to + 1 }, 'wall')
  t.equal(createProjection(slots, ahead, new Set()).needed.length, 1)
})
