import { setTimeout as sleep } from 'node:timers/promises'
import { pauseMsOf } from '../../pipeline/queues/back-off.js'
import { createStore, type StoreAddress } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import type { NoticeMessage, NoticeSettings } from '../../schemas/gateway/reads-settings.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import { createWebhook, judgeStatus } from './webhook.js'

export interface ChangeNoticeOptions {
  readonly database: string
  readonly settings: NoticeSettings
  readonly store: StoreAddress
  readonly secret: (reference: SecretReference) => string
  readonly onFailure: (fault: Fault) => void
}

const pauseMsMax = 600_000

/**
 * Notifies the platform that there is something to pull: the newest number of publication. Nothing is
 * recorded, because the platform compares the number with its own: a message that is lost is followed by the
 * next, one that is repeated says nothing new. The first is sent at the start.
 */
export function createChangeNotice(options: ChangeNoticeOptions): { close(): Promise<void> } {
  const { settings, database, onFailure } = options
  const webhook = createWebhook(settings, options.secret, receiver)
  const store = createStore(options.store, 'discreet')
  const ending = new AbortController()
  let sent = -1
  let failures = 0
  const look = async () => {
    const [row] = await store.rows<{ newest: number }>({
      sql: sql`SELECT toUInt32(max(published_seq)) AS newest FROM publication`,
    })
    const newest = row?.newest ?? 0
    if (newest <= sent) return
    const message: NoticeMessage = { v: 1, database, publishedSeq: newest }
    const status = await webhook.send(JSON.stringify(message))
    if (judgeStatus(status) !== 'delivered') throw refused(status)
    sent = newest
  }
  const run = async () => {
    const everyMs = settings.lookSeconds * 1_000
    while (!ending.signal.aborted) {
      try {
        await look()
        failures = 0
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        failures++
        onFailure(error)
      }
      const limits = { firstMs: everyMs, mostMs: Math.max(everyMs, pauseMsMax) }
      const pauseMs = failures === 0 ? everyMs : pauseMsOf(failures, limits)
      await sleep(pauseMs, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    close: async () => {
      ending.abort()
      webhook.close()
      await running
      await store.close()
    },
  }
}

const receiver = {
  fault: 'NOTICE_UNREACHABLE',
  name: 'the receiver of reads.notify',
  setting: 'reads.notify',
} as const

function refused(status: number): Fault {
  return new Fault('NOTICE_UNREACHABLE', `${receiver.name} answered ${status}; it is sent again`)
}
