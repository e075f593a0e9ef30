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
import { type Alert, evaluateRules, type RuleResult } from './rules.js'
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

/** Notifications sent by one evaluation; the next sends the rest. */
const messagesMax = 50
/** About 20 hours with the pauses below. */
const attemptsMax = 25
const pauseMsMax = 3_600_000
/** Time for the store to record an attempt, in addition to the receiver's timeout. */
const recordMsMax = 2_000

/**
 * Evaluates the alert rules and notifies the webhook. A notification is recorded before it is sent and
 * after it is answered: a crash in between sends it again with the same id. Delivery is at least once.
 */
export function createAlerts(options: AlertsOptions): {
  notify(): Promise<void>
  close(): Promise<void>
} {
  const { profile, settings, landing } = options
  const webhook = createWebhook(settings, options.secret)
  const store = createStore(options.store, 'discreet', profile.store)
  const queues = createQueues({ redisUrl: options.redisUrl, prefix: profile.database })
  return {
    notify: async () => {
      const now = new Date()
      const results = await evaluateRules({ profile, settings, store, queues, landing, now })
      const keys = results.flatMap(({ alerts }) => alerts.map(({ key }) => key))
      const latest = await readNotifications(store, keys)
      const due = listDue(results, latest, { ...options, now })
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

interface DueOptions extends Pick<AlertsOptions, 'profile' | 'settings'> {
  readonly now: Date
}

/** The notifications to send now, those left by earlier evaluations first. */
export function listDue(
  results: readonly RuleResult[],
  latest: ReadonlyMap<string, Notification>,
  options: DueOptions,
): readonly Notification[] {
  const present = new Map(results.flatMap(({ alerts }) => alerts.map((one) => [one.key, one])))
  const left = [...latest.values()].flatMap((last): readonly Notification[] => {
    if (last.outcome === 'open') return isLeased(last, options.now) ? [] : [last]
    const isOver = !present.has(last.key) && results.some(({ covers }) => covers(last))
    return isOver && last.state === 'raised' ? [resolve(last, options)] : []
  })
  const raised = [...present.values()].flatMap((alert): readonly Notification[] => {
    const last = latest.get(alert.key)
    if (last?.outcome === 'open') return []
    return last?.state === 'raised' && !isToRepeat(last, options)
      ? []
      : [raise(alert, last, options)]
  })
  return [...left, ...raised]
}

/**
 * Another worker may be sending it, or its pause is not over. A longer pause than any allowed was
 * written by a clock that ran ahead and does not count.
 */
function isLeased({ retryAt }: Notification, now: Date): boolean {
  const leftMs = retryAt.getTime() - now.getTime()
  return leftMs > 0 && leftMs <= pauseMsMax + recordMsMax
}

function isToRepeat({ notifiedAt }: Notification, { settings, now }: DueOptions): boolean {
  return now.getTime() - notifiedAt.getTime() >= settings.repeatHours * 3_600_000
}

/** A repeated alert keeps the start of its first notification. */
function raise(alert: Alert, last: Notification | undefined, options: DueOptions): Notification {
  const { key, about } = alert
  const isRepeated = last?.state === 'raised'
  const since = isRepeated ? toMessage(last).since : alert.since.toISOString()
  const sequence = (last?.sequence ?? 0) + 1
  return toNotification({ key, state: 'raised', since, about, sequence }, options)
}

function resolve(last: Notification, options: DueOptions): Notification {
  const { key, since, about, sequence } = toMessage(last)
  return toNotification({ key, state: 'resolved', since, about, sequence: sequence + 1 }, options)
}

/** The stored message; an earlier release may have written it. */
function toMessage({ body }: Notification): AlertMessage {
  return JSON.parse(body)
}

type Content = Pick<AlertMessage, 'key' | 'state' | 'since' | 'about' | 'sequence'>

function toNotification(content: Content, options: DueOptions): Notification {
  const { key, sequence, state } = content
  const { database } = options.profile
  const notifiedAt = options.now
  const message: AlertMessage = {
    v: 1,
    id: randomUUID(),
    database,
    notifiedAt: notifiedAt.toISOString(),
    ...content,
  }
  const body = JSON.stringify(message)
  const outcome = { outcome: 'open', status: 0, attempts: 0 } as const
  return { key, sequence, state, body, ...outcome, notifiedAt, retryAt: notifiedAt }
}

/** No worker makes another attempt before `retryAt`; the pause doubles each time. */
function nextAttempt(
  message: Notification,
  { lookSeconds, timeoutMs }: AlertSettings,
): Notification {
  const attempts = message.attempts + 1
  const pauseMs = pauseMsOf(attempts, { firstMs: lookSeconds * 1_000, mostMs: pauseMsMax })
  const retryAt = new Date(Date.now() + Math.max(pauseMs, timeoutMs + recordMsMax))
  return { ...message, attempts, retryAt }
}

/** The notification with its outcome. Undefined without a response: the others need not be tried. */
async function deliver(
  webhook: Webhook,
  message: Notification,
  { log, onFailure }: AlertsOptions,
): Promise<Notification | undefined> {
  const { key, sequence, attempts } = message
  const fail = (fault: Fault, status: number) => {
    onFailure(fault)
    log.warn({ alert: key, sequence, attempts, code: fault.code, status }, fault.detail)
  }
  const isLast = attempts >= attemptsMax
  try {
    const status = await webhook.send(message.body)
    const outcome = judgeStatus(status)
    if (outcome !== 'delivered') fail(toAlertFault(status), status)
    if (outcome === 'open') return isLast ? { ...message, outcome: 'failed', status } : message
    return { ...message, outcome, status }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    fail(error, 0)
    return isLast ? { ...message, outcome: 'failed' } : undefined
  }
}

/** The fault for a response other than 2xx. */
export function toAlertFault(status: number): Fault {
  const isPassing = judgeStatus(status) === 'open'
  const next = isPassing ? 'the notification is retried' : 'the notification is not retried'
  const code = isPassing ? 'ALERT_UNREACHABLE' : 'ALERT_REFUSED'
  return new Fault(code, `the alert receiver answered ${status}; ${next}`)
}
