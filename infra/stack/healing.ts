import { withDeadline } from '../../pipeline/deadline.js'
import { type Outage, recordHealed } from '../../pipeline/ledger/healed.js'
import { createStore, type Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import { askRedis } from '../redis/ask.js'
import type { Restart } from './processes/supervise.js'
import type { Closer, QueuePart, StorePart } from './servers.js'

/** An external server; `ask` throws a fault while it does not answer. */
export interface WatchedServer {
  readonly name: string
  readonly ask: () => Promise<void>
}

/** Records the restarts of child processes and the outages of external servers. */
export interface Healing {
  restarted(part: string, restart: Restart): void
  /** Begins to record, and to watch the servers. */
  open(store: Store, servers: readonly WatchedServer[]): void
  close(): Promise<void>
}

const recordMs = 2_000
/** Beyond this the oldest are forgotten: the store has not answered for hours. */
const pendingMax = 100

const lookMsWanted = 5_000

/**
 * What heals before the store answers is kept and recorded when it does; `onFailure` is called while
 * it does not. `lookMs` are between two looks at a server.
 */
export function createHealing(onFailure: (fault: Fault) => void, lookMs = lookMsWanted): Healing {
  const pending: Outage[] = []
  const timers: NodeJS.Timeout[] = []
  let store: Store | undefined
  let recording: Promise<void> | undefined
  const add = (outage: Outage): void => {
    pending.push(outage)
    if (pending.length > pendingMax) pending.shift()
  }
  const recordAll = async (): Promise<void> => {
    try {
      for (let one = pending[0]; store !== undefined && one !== undefined; one = pending[0]) {
        await recordHealed(store, one)
        if (pending[0] === one) pending.shift()
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      onFailure(error)
    }
  }
  const record = (): Promise<void> => {
    recording ??= recordAll().finally(() => {
      recording = undefined
    })
    return recording
  }
  return {
    restarted: (subject, { beganAt, detail }) =>
      add({ kind: 'restart', subject, beganAt, healedAt: new Date(), code: '', detail }),
    open: (opened, servers) => {
      store = opened
      timers.push(setInterval(() => void record(), recordMs).unref())
      for (const server of servers) {
        timers.push(setInterval(createLook(server, add), lookMs).unref())
      }
    },
    close: async () => {
      for (const timer of timers) clearInterval(timer)
      await recording
      await record()
      await store?.close()
    },
  }
}

/** Asks a server unless the last question is still open; an outage is added when it has ended. */
function createLook({ name, ask }: WatchedServer, add: (outage: Outage) => void): () => void {
  let outage: Omit<Outage, 'healedAt'> | undefined
  let isAsking = false
  const look = async (): Promise<void> => {
    try {
      await ask()
      if (outage !== undefined) add({ ...outage, healedAt: new Date() })
      outage = undefined
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const { code, detail } = error
      const { beganAt = new Date() } = outage ?? {}
      outage = { kind: 'server', subject: name, beganAt, code, detail }
    }
  }
  return () => {
    if (isAsking) return
    isAsking = true
    void look().finally(() => {
      isAsking = false
    })
  }
}

const answerMsMax = 5_000

/** Opens the store of the recorder; servers without a `part` are external. Returns how it is closed. */
export function openHealing(
  healing: Healing,
  {
    store: address,
    part,
    redis,
  }: Pick<StorePart, 'store' | 'part'> & { readonly redis: QueuePart },
): Closer {
  const store = createStore(address, 'discreet')
  const ping = async (): Promise<void> => {
    const answered = store.ping().catch(() => false)
    if (await withDeadline(answered, answerMsMax, () => false)) return
    throw new Fault('STORE_UNREACHABLE', `ClickHouse at ${address.url} does not answer`)
  }
  const askQueues = async () => void (await askRedis(redis.redisUrl, 'PING'))
  healing.open(store, [
    ...(part === undefined ? [{ name: 'ClickHouse', ask: ping }] : []),
    ...(redis.part === undefined ? [{ name: 'Redis', ask: askQueues }] : []),
  ])
  return healing.close
}
