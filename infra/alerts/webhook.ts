import { createHmac } from 'node:crypto'
import { createHttpClient } from '../../api/http-client.js'
import { Fault, type FaultCode } from '../../schemas/fault.js'
import type { WebhookSettings } from '../../schemas/gateway/webhook.js'
import type { SecretReference } from '../../schemas/settings/secret.js'

/** A receiver of signed messages. */
export interface Webhook {
  /** Sends one message and resolves to the HTTP status. Throws the fault of the receiver. */
  send(body: string): Promise<number>
  close(): void
}

const signatureHeader = 'Tieline-Signature'
const secretCharactersMin = 16

/** The receiver in error messages. */
export interface WebhookReceiver {
  readonly fault: FaultCode
  readonly name: string
  /** The section of the profile. */
  readonly setting: string
}

const alertReceiver: WebhookReceiver = {
  fault: 'ALERT_UNREACHABLE',
  name: 'the alert receiver',
  setting: 'alerts',
}

/** Throws `CONFIG` for a short secret, `PROFILE` for an unusable caFile. */
export function createWebhook(
  settings: WebhookSettings,
  secret: (reference: SecretReference) => string,
  { fault, name, setting }: WebhookReceiver = alertReceiver,
): Webhook {
  const { url, timeoutMs, answerBytesMax, caFile } = settings
  const key = secret(settings.secret)
  if (key.length < secretCharactersMin) {
    const remedy = `use at least ${secretCharactersMin}, for example from openssl rand -hex 32`
    throw new Fault('CONFIG', `${setting}.secret has ${key.length} characters; ${remedy}`)
  }
  const caller = createHttpClient({
    fault,
    name,
    timeoutMs,
    connectionsMax: 1,
    answerBytesMax,
    caFile,
  })
  return {
    send: async (body) => {
      const headers = { [signatureHeader]: sign(body, { key, at: new Date() }) }
      return (await caller.send({ method: 'POST', url, headers, body })).status
    },
    close: () => caller.close(),
  }
}

/** `t=<seconds since 1970>,v1=<HMAC-SHA256 of "<t>.<body>", hexadecimal>`. */
export function sign(body: string, { key, at }: { readonly key: string; readonly at: Date }) {
  const t = Math.floor(at.getTime() / 1_000)
  return `t=${t},v1=${createHmac('sha256', key).update(`${t}.${body}`).digest('hex')}`
}

/** Whether a notification was delivered, is worth a retry, or was refused. */
export function judgeStatus(status: number): 'delivered' | 'open' | 'refused' {
  if (status >= 200 && status < 300) return 'delivered'
  return status >= 500 || status === 408 || status === 429 ? 'open' : 'refused'
}
