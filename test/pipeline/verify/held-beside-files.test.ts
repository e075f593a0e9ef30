import t, { type Test } from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { verify } from '../../../pipeline/verify/verify.js'
import { momentsOf, sample } from '../../rig/sample.js'
import { createLineByHand } from '../by-hand.js'
import { customerAt, registeringAt } from '../customers/registering.js'
import { aroundWrites } from '../dying.js'

const line = await createLineByHand(t)
const { store } = line.context
const profile = { ...line.context.profile, ingestion: 'registered' as const }

/** A line that is called back before each write of its store. */
function interrupted(before: (write: number) => Promise<void>): PipelineContext {
  let writes = 0
  const own = aroundWrites(store, async (write) => {
    await before(writes++)
    return write()
  })
  return { ...line.context, profile, store: own }
}

const whole = interrupted(async () => undefined)

async function publish(context: PipelineContext, arrival: number): Promise<void> {
  await reconcile(context, arrival)
  await settle(context, arrival)
}

let files = 0
const takeIn = (rows: readonly string[]) => {
  const [year, month, day] = new Date(Date.UTC(2024, 5, ++files)).toISOString().split(/[-T]/)
  return line.takeIn(`DEMO_${day}${month}${year}_Electric.csv`, rows)
}
const load = async (rows: readonly string[]) => {
  const arrival = await takeIn(rows)
  await publish(whole, arrival)
  return arrival
}

const hours = (account: string, from: number, quantities: readonly number[]) => (meter: string) =>
  quantities.map((quantity, at) => {
    return `${account}-${meter},S-${meter},${meter},6/1/2024 ${from + at}:00,${quantity}`
  })
const early = hours('K', 0, [20, 21, 22])
const late = hours('K', 3, [60, 61])

function scenes(name: string, most: number) {
  const isTried = momentsOf(15, most - 1)
  const moments = Array.from({ length: most }, (_, at) => ({ at, meter: name + at }))
  return moments.filter(({ at }) => isTried(at))
}
const beside = scenes('A', 15)
const verdicts = scenes('B', 27)
const deaths = scenes('C', 27)
const meters = [...beside, ...verdicts, ...deaths].map(({ meter }) => meter)

const customer = (account: string) => (meter: string) =>
  customerAt({
    clientId: `${account}-${meter}`,
    accountNumber: `${account}-${meter}`,
    externalSiteId: `S-${meter}`,
    meterId: meter,
  })

/** Registers a client. The held reads are stored by the next reconcile, which stops at nothing else. */
const claim = async (context: PipelineContext, account: string, meter: string) => {
  await register({ ...registeringAt(context.store), profile }, [customer(account)(meter)])
  await reconcile(context, held)
}

// Reads of each meter that are stored, and held ones of two other accounts at the same times.
await register({ ...registeringAt(store), profile }, meters.map(customer('K')))
await load(meters.flatMap(hours('K', 0, [10, 11, 12, 13, 14, 15])))
const earlyFiles = new Map<string, number>()
for (const { meter } of verdicts.filter(({ at }) => at % 2 === 0)) {
  earlyFiles.set(meter, await takeIn(early(meter)))
}
const held = await load(meters.flatMap(hours('N', 1, [31, 32, 33])))
await load(meters.flatMap(hours('P', 2, [42, 43, 44])))
await load(meters.flatMap(hours('N', 4, [54])))

/** As many rows as recorded, of each arrival, before and after the engine merges; in the short run it merges once a test. */
async function isExact(t: Test, what: string, isLast: boolean) {
  const published = 'SELECT arrival FROM publication'
  const differences = () =>
    store.rows({
      sql: `SELECT arrival, sum(noted) AS noted, sum(stored) AS stored, sum(total) AS differs FROM (
          SELECT arrival, rows AS noted, 0 AS stored, toDecimal128(quantity, 6) AS total
          FROM published_rows FINAL WHERE arrival IN (${published})
            AND (kind != 'replaced' OR cause IN (${published}))
          UNION ALL
          SELECT toUInt32(bitShiftRight(version, 32)), 0, 1, -toDecimal128(quantity, 6)
          FROM usage_current
        ) GROUP BY arrival HAVING noted != stored OR differs != 0`,
    })
  t.same(await differences(), [], what)
  if (sample({ short: !isLast, long: false })) return
  await store.command({ sql: 'OPTIMIZE TABLE usage_read FINAL' })
  t.same(await differences(), [], `${what}, merged`)
}

/** The latest version of each read counts, whoever stored it first: none where it is held. */
async function sees(t: Test, meter: string, quantities: readonly number[]) {
  const rows = await store.rows<{ quantity: number }>({
    sql: `SELECT toFloat64(quantity) AS quantity FROM usage_current
      WHERE meter_id = '${meter}' ORDER BY starts_at`,
  })
  t.same(
    rows.map(({ quantity }) => quantity),
    quantities,
    `${meter} has the latest reads`,
  )
}

t.test('a file that is published before any write of a registration counts', async (t) => {
  for (const { at, meter } of beside) {
    const file = await takeIn(late(meter))
    let isOver = true
    const context = interrupted(async (write) => {
      if (write !== at) return
      isOver = false
      await publish(whole, file)
    })
    await register({ ...registeringAt(context.store), profile }, [customer('N')(meter)])
    await reconcile(whole, held)
    await publish(whole, file)
    await isExact(t, `before write ${at}`, isOver)
    await sees(t, meter, [10, 31, 60, 61, 15])
    if (isOver) return
  }
  t.fail('every write was met')
})

t.test('a registration before any write of a verdict counts', async (t) => {
  for (const { at, meter } of verdicts) {
    const first = earlyFiles.get(meter)
    const file = first ?? (await takeIn(late(meter)))
    let isOver = true
    const context = interrupted(async (write) => {
      if (write !== at) return
      isOver = false
      await register({ ...registeringAt(store), profile }, [customer('N')(meter)])
    })
    await publish(context, file)
    await claim(whole, 'N', meter)
    await isExact(t, `before write ${at}`, isOver)
    const seen = first === undefined ? [10, 31, 60, 61, 15] : [20, 31, 54, 15]
    await sees(t, meter, seen)
    if (isOver) return
  }
  t.fail('every write was met')
})

t.test('a claim that died at any write is finished before a file or another claim', async (t) => {
  for (const { at, meter } of deaths) {
    let isOver = true
    const dying = interrupted(async (write) => {
      if (write !== at) return
      isOver = false
      throw new Error('killed')
    })
    await claim(dying, 'N', meter).catch(() => undefined)
    if (at % 2 === 0) await claim(whole, 'P', meter)
    await load(late(meter))
    await claim(whole, 'N', meter)
    await isExact(t, `died at write ${at}`, isOver)
    const seen = at % 2 === 0 ? [10, 31, 42, 60, 61, 15] : [10, 31, 60, 61, 15]
    await sees(t, meter, seen)
    if (isOver) return
  }
  t.fail('every write was met')
})

t.test('nothing is reported as missing, and nothing waits to be stored', async (t) => {
  const { damage } = await verify(line.context, { files: false, lookMs: 1 })
  t.same(damage, [])
  t.same(await store.rows({ sql: 'SELECT * FROM held_claim' }), [])
})
