import t from 'tap'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { groupBy } from '../../../../schemas/lists/group-by.js'
import { randomFrom, sample } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import {
  anyHistory,
  fileName,
  type History,
  type HistoryRead,
  instantOfHour,
  instantOfRound,
  roundCount,
  takeSights,
  toRow,
} from '../histories.js'
import { ownersOf } from '../owners.js'
import { registeringAt } from '../registering.js'

const line = await createLineByHand(t)
const { store } = line.context
const profile = { ...line.context.profile, ingestion: 'registered' as const }
const context = { ...line.context, profile }
const batches = sample({ short: 1, long: 20 })
const batchSize = sample({ short: 40, long: 100 })
const usageFiles = 3

/** A history of which some rounds and files have been taken in. */
interface Known {
  readonly all: History
  readonly prefix: string
  rounds: History['rounds'][number][]
  usage: History['usage'][number][]
}

/** What is known of it so far. */
const soFar = ({ rounds, usage }: Known): History => {
  return { rounds, usage, bills: [], terminations: [] }
}

async function takeRound(round: number, histories: readonly Known[]): Promise<void> {
  const at = { ...registeringAt(store, () => new Date(instantOfRound(round))), profile }
  const sights = histories.flatMap((one) => {
    one.rounds[round] = one.all.rounds[round] ?? []
    return one.rounds[round].map((sight) => ({ sight, prefix: one.prefix }))
  })
  await takeSights(sights, (step) => step(at))
}

/** A file names an account with each read, and moves some reads to an account that nobody has. */
function withAccounts(history: History, random: () => number): History {
  const named = history.usage.map((reads) =>
    reads.map((read) => ({ ...read, account: read.account || 'Y' })),
  )
  const moved = (reads: readonly HistoryRead[]) =>
    reads.filter(() => random() < 0.15).map((read) => ({ ...read, account: 'Y' }))
  const usage = named.map((reads, at) => [...reads, ...moved(named.slice(0, at + 1).flat())])
  return { ...history, usage }
}

let files = 0

/** A history with those of its reads alone that are stored: what is held is not looked at (decision 21). */
async function storedOnly(): Promise<(history: History, prefix: string) => History> {
  const rows = await store.rows<{ name: string }>({
    sql: sql`SELECT concat(account_number, ' ', meter_id, ' ', toString(toUnixTimestamp(starts_at))) AS name
      FROM usage`,
  })
  const stored = new Set(rows.map(({ name }) => name))
  return (history, prefix) => ({
    ...history,
    usage: history.usage.map((reads) =>
      reads.filter(({ account, meter, hour }) =>
        stored.has(`${prefix}${account} ${prefix}${meter} ${instantOfHour(hour) / 1_000}`),
      ),
    ),
  })
}

/** Who may see a read, by all that came or by what of it is stored. */
function allowedIn(histories: readonly History[], read: HistoryRead): readonly string[] {
  return histories.flatMap((one) => {
    const { may, readers } = ownersOf(one, read)
    return [...may, ...readers]
  })
}

/** Rows of a file by line: the read, and what is known when it is judged. */
async function takeFile(file: number, histories: readonly Known[]): Promise<readonly object[]> {
  const rows = histories.flatMap((one) => {
    const before = soFar({ ...one, usage: [...one.usage] })
    return (one.all.usage[file] ?? []).map((read) => ({ one, before, read }))
  })
  const texts = rows.map(({ one, read }) => toRow(read, one.prefix))
  const evidentOf = await storedOnly()
  const arrival = await line.takeIn(fileName(files++), texts)
  await reconcile(context, arrival)
  const linesOf = async (table: string) => {
    const found = await store.rows<{ line: number }>({
      sql: `SELECT toUInt32(bitAnd(version, 4294967295)) AS line FROM ${table}
        WHERE bitShiftRight(version, 32) = ${arrival}${table === 'usage_read' ? ' AND NOT is_rekeyed' : ''}`,
    })
    return new Set(found.map((row) => row.line))
  }
  const [stored, held] = [await linesOf('usage_read'), await linesOf('held_read')]
  await settle(context, arrival)
  t.match(await context.ledger.state(arrival), { status: 'published', rows: { rejected: 0 } })
  for (const one of histories) one.usage.push(one.all.usage[file] ?? [])
  return rows.flatMap(({ one, before, read }, at) => {
    const { must } = ownersOf(before, read)
    const allowed = allowedIn([before, evidentOf(before, one.prefix)], read)
    const places = before.rounds
      .flat()
      .flatMap(({ places, kind }) => (kind === 'record' ? places : []))
    const isNear = places.some(({ site }) => site === read.site)
    const [isStored, isHeld] = [stored.has(at + 2), held.has(at + 2)]
    const isForeign = isStored && allowed.length === 0
    // A held read behind the end of its tenancy does not take the end back, unlike a stored one.
    const isOpen = before.rounds.flat().every(({ client, kind, status, places }) => {
      const here = places.filter(({ site }) => site === read.site)
      const has = here.some(({ account }) => account === read.account)
      const isOnly = here.every(({ account }) => account === read.account)
      return isOnly && (!must.includes(client) || (kind === 'record' && status === 'A' && has))
    })
    const isMissed = must.length > 0 && isOpen && isHeld
    const isAlone = (others: readonly HistoryRead[]) =>
      others.every((other) => other.meter !== read.meter || other.hour !== read.hour)
    const later = rows.slice(at + 1).filter((other) => other.one === one)
    const isFirst = isAlone(before.usage.flat()) && isAlone(later.map((other) => other.read))
    const isLost = isNear && isFirst && !isStored && !isHeld
    const isKept = !isNear && (isStored || isHeld)
    if (!isForeign && !isMissed && !isLost && !isKept) return []
    const history = JSON.stringify({ ...before, prefix: one.prefix })
    return [{ read, isStored, isHeld, must, allowed, history }]
  })
}

/** Reads that readers see for somebody whose they are not, or see twice. */
async function compare(histories: readonly Known[]): Promise<readonly object[]> {
  const rows = await store.rows<{ meter: string; at: number; clients: readonly string[] }>({
    sql: sql`SELECT meter_id AS meter, toUnixTimestamp(starts_at) AS at, client_ids AS clients
      FROM registered_usage`,
  })
  const evidentOf = await storedOnly()
  const seen = new Map<string, string[][]>()
  for (const { meter, at, clients } of rows) {
    const own = clients.map((one) => one.split('-')[1] ?? '')
    seen.set(`${meter} ${at}`, [...(seen.get(`${meter} ${at}`) ?? []), own])
  }
  return histories.flatMap((one) => {
    const history = soFar(one)
    const known = [history, evidentOf(history, one.prefix)]
    const reads = groupBy(history.usage.flat(), ({ meter, hour }) => `${meter} ${hour}`)
    return reads.flatMap((versions) => {
      const [{ meter, hour }] = versions as [HistoryRead, ...HistoryRead[]]
      const found = seen.get(`${one.prefix}${meter} ${instantOfHour(hour) / 1_000}`) ?? []
      const allowed = allowedIn(known, versions.at(-1) as HistoryRead)
      const isForeign = found.flat().some((client) => !allowed.includes(client))
      if (!isForeign && found.length <= 1) return []
      return [{ versions, found, allowed, history: JSON.stringify(history) }]
    })
  })
}

t.test('nothing is stored that is not a client’s, but for what is held', async (t) => {
  for (let batch = 0; batch < batches; batch++) {
    const seed = Date.now() & 0x7fffffff
    const random = randomFrom(seed)
    const histories = Array.from({ length: batchSize }, (_, at): Known => {
      const all = withAccounts(anyHistory(random), random)
      const rounds = Array.from({ length: roundCount }, () => [])
      return { all, prefix: `${batch}x${at}-`, rounds, usage: [] }
    })
    let [round, file] = [0, 0]
    const wrong: object[] = []
    while (round < roundCount || file < usageFiles) {
      const isRound = file === usageFiles || (round < roundCount && random() < 0.6)
      if (isRound) await takeRound(round++, histories)
      else wrong.push(...(await takeFile(file++, histories)))
    }
    t.same(wrong.slice(0, 3), [], `as files come in, seed ${seed}`)
    t.same((await compare(histories)).slice(0, 3), [], `in the end, seed ${seed}`)
  }
})
