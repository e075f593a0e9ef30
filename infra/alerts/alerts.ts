import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { pauseMsOf } from '../../pipeline/queues/back-off.js'
import { createQueues } from '../../pipeline/queues/bullmq.js'
import { createStore, type StoreAddress } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import type { AlertMessage, AlertSettings } from '../../schemas/settings/alert.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import { claimAttempt, type Notification, readNotifications, recordEnd } from './notifications.js'
import { type Alert, lookAround, type Sight } from './present.js'
import { createWebhook, judgeStatus, type Webhook } from './webhook.js'

export interface AlertsOptions {
  readonly profile: Profile
  readonly settings: AlertSettings
  readonly store: StoreAddress
  readonly redisUrl: string
  readonly landing: string
  readonly secret: (reference: SecretReference) => string
  readonly log: Logger
  readonly onFailure: (fault: Fault) => void
}

/** Messages that one look sends; the next sends more. */
const messagesMax = 50
/** With the pauses below, some 20 hours. */
const attemptsMax = 25
const pauseMsMax = 3_600_000
/** What an attempt may take besides the receiver's time: the store's. */
const recordMsMax = 2_000

/**
 * Tells whoever receives alerts what is the matter. A message is written down before it is sent and
 * after it was answered: a crash in between sends it once more, with the same id, never less than once.
 */
export function createAlerts(options: AlertsOptions): {
  look(): Promise<void>
  close(): Promise<void>
} {
  const { profile, settings, landing } = options
  const webhook = createWebhook(settings, options.secret)
  const store = createStore(options.store, 'discreet')
  const queues = createQueues({ redisUrl: options.redisUrl, prefix: profile.database })
  return {
    look: async () => {
      const now = new Date()
      const sights = await lookAround({ profile, settings, store, queues, landing, now })
      const keys = sights.flatMap(({ alerts }) => alerts.map(({ key }) => key))
      const told = await readNotifications(store, keys)
      const due = listDue(sights, told, { ...options, now })
      for (const one of due.slice(0, messagesMax)) {
        const message = nextAttempt(one, settings)
        if (!(await claimAttempt(store, message))) continue
        const ended = await deliver(webhook, message, options)
        if (ended === undefined) return
        if (ended.outcome !== 'open') await recordEnd(store, ended)
      }
    },
    close: async () => {
      webhook.close()
      await queues.close()
      await store.close()
    },
  }
}

interface Rules extends Pick<AlertsOptions, 'profile' | 'settings'> {
  readonly now: Date
}

/** The messages that are to be sent now: what is left of earlier looks first. */
export function listDue(
  sights: readonly Sight[],
  told: ReadonlyMap<string, Notification>,
  rules: Rules,
): readonly Notification[] {
  const present = new Map(sights.flatMap(({ alerts }) => alerts.map((one) => [one.key, one])))
  const left = [...told.values()].flatMap((last): readonly Notification[] => {
    if (last.outcome === 'open') return isLeased(last, rules.now) ? [] : [last]
    const isOver = !present.has(last.key) && sights.some(({ covers }) => covers(last))
    return isOver && last.state === 'raised' ? [resolve(last, rules)] : []
  })
  const raised = [...present.values()].flatMap((alert): readonly Notification[] => {
    const last = told.get(alert.key)
    if (last?.outcome === 'open') return []
    return last?.state === 'raised' && !isToRepeat(last, rules) ? [] : [raise(alert, last, rules)]
  })
  return [...left, ...raised]
}

/** Another may be sending it, or its pause is not over; one longer than any was written by a wrong clock. */
function isLeased({ retryAt }: Notification, now: Date): boolean {
  const leftMs = retryAt.getTime() - now.getTime()
  return leftMs > 0 && leftMs <= pauseMsMax + recordMsMax
}

function isToRepeat({ toldAt }: Notification, { settings, now }: Rules): boolean {
  return now.getTime() - toldAt.getTime() >= settings.repeatHours * 3_600_000
}

/** What goes on has begun when it was told first. */
function raise(alert: Alert, last: Notification | undefined, rules: Rules): Notification {
  const { key, about } = alert
  const goesOn = last?.state === 'raised'
  const since = goesOn ? toMessage(last).since : alert.since.toISOString()
  return toNotification({ key, state: 'raised', since, about, told: (last?.told ?? 0) + 1 }, rules)
}

function resolve(last: Notification, rules: Rules): Notification {
  const { key, since, about, told } = toMessage(last)
  return toNotification({ key, state: 'resolved', since, about, told: told + 1 }, rules)
}

/** What was written here, perhaps by an earlier release. */
function toMessage({ body }: Notification): AlertMessage {
  return JSON.parse(body)
}

type Said = Pick<AlertMessage, 'key' | 'state' | 'since' | 'about' | 'told'>

function toNotification(said: Said, rules: Rules): Notification {
  const { key, told, state } = said
  const { database } = rules.profile
  const toldAt = rules.now
  const made: AlertMessage = {
    v: 1,
    id: randomUUID(),
    database,
    toldAt: toldAt.toISOString(),
    ...said,
  }
  const body = JSON.stringify(made)
  const outcome = { outcome: 'open', status: 0, attempts: 0 } as const
  return { key, told, state, body, ...outcome, toldAt, retryAt: toldAt }
}

/** Until `retryAt`, twice as far each time, nobody makes one more. */
function nextAttempt(
  message: Notification,
  { lookSeconds, timeoutMs }: AlertSettings,
): Notification {
  const attempts = message.attempts + 1
  const pauseMs = pauseMsOf(attempts, { firstMs: lookSeconds * 1_000, mostMs: pauseMsMax })
  const retryAt = new Date(Date.now() + Math.max(pauseMs, timeoutMs + recordMsMax))
  return { ...message, attempts, retryAt }
}

/** What became of a claimed message. Undefined where nobody answers: the others need not be tried. */
async function deliver(
  webhook: Webhook,
  message: Notification,
  { log, onFailure }: AlertsOptions,
): Promise<Notification | undefined> {
  const { key, told, attempts } = message
  const fail = (fault: Fault, status: number) => {
    onFailure(fault)
    log.warn({ alert: key, told, attempts, code: fault.code, status }, fault.detail)
  }
  const isLast = attempts >= attemptsMax
  try {
    const status = await webhook.send(message.body)
    const outcome = judgeStatus(status)
    if (outcome !== 'delivered') fail(toFault(status), status)
    if (outcome === 'open') return isLast ? { ...message, outcome: 'failed', status } : message
    return { ...message, outcome, status }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    fail(error, 0)
    return isLast ? { ...message, outcome: 'failed' } : undefined
  }
}

/** What an answer other than 2xx is. */
export function toFault(status: number): Fault {
  const isPassing = judgeStatus(status) === 'open'
  const next = isPassing ? 'it is sent again' : 'it is not sent again'
  const code = isPassing ? 'ALERT_UNREACHABLE' : 'ALERT_REFUSED'
  return new Fault(code, `the receiver of alerts answered ${status}; ${next}`)
}
