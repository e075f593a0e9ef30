import t from 'tap'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { randomFrom } from '../../rig/sample.js'
import { createLineByHand } from '../by-hand.js'

const hourMs = 3_600_000
const seed = Date.now() & 0x7fffffff
const random = randomFrom(seed)
/** True time; each look at the clock adds a jump of an hour back, a day forward, or none. */
const start = Date.parse('2026-02-03T20:00:00Z')
let looks = 0
const jumps = [0, -hourMs, 24 * hourMs]
const now = () =>
  new Date(start + looks++ * 1_000 + (jumps[Math.floor(random() * jumps.length)] as number))

const line = await createLineByHand(t, { now })
const { store } = line.context

interface Pulled {
  readonly seq: string
  readonly meter: string
  readonly quantity: string
}

/** Pulls as a client does: rows with a higher number than any that it has. */
let pulledTo = 0
const mirror = new Map<string, string>()
const pull = async () => {
  const rows = await store.rows<Pulled>({
    sql: `SELECT toString(published_seq) AS seq, meter_id AS meter, toString(quantity) AS quantity
      FROM usage WHERE published_seq > {after:UInt64} ORDER BY published_seq`,
    parameters: { after: pulledTo },
  })
  for (const { seq, meter, quantity } of rows) {
    mirror.set(meter, quantity)
    pulledTo = Math.max(pulledTo, Number(seq))
  }
}

t.test(`no increment is lost while the clock jumps (${seed})`, async (t) => {
  const files = 12
  for (let at = 1; at <= files; at++) {
    // Every file corrects a read of less than an hour ago, and brings a new meter.
    const rows = [`A,S,M0,2/3/2026 14:45,${at}`, `A,S,M${at},2/3/2026 14:45,1`]
    const name = `DEMO_${String(at).padStart(2, '0')}022026_Electric.csv`
    const arrival = await line.takeIn(name, rows)
    await pull()
    t.notOk(mirror.has(`M${at}`), 'nothing is shown before its verdict')
    await reconcile(line.context, arrival)
    if (random() < 0.5) await settle(line.context, arrival)
    await pull()
    const state = await line.context.ledger.state(arrival)
    t.match(state, { status: 'published' }, 'no read is refused')
    t.equal(mirror.get('M0'), String(at), 'the correction is pulled')
    t.equal(mirror.get(`M${at}`), '1')
  }
  const numbers = await store.rows<{ seq: string; at: string }>({
    sql: `SELECT toString(published_seq) AS seq, toString(published_at) AS at FROM publication
      ORDER BY published_seq`,
  })
  t.equal(numbers.length, files)
  for (const [index, { seq, at }] of numbers.entries()) {
    t.equal(seq, String(index + 1))
    t.ok(at > (numbers[index - 1]?.at ?? ''), 'instants only grow')
  }
  const rejected = await store.rows({ sql: 'SELECT * FROM rejected_row' })
  t.same(rejected, [])
  t.equal(mirror.size, files + 1)
})
