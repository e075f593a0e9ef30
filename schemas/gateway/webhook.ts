import { z } from 'zod'
import { byteSize } from '../settings/byte-size.js'
import { secretReference } from '../settings/secret.js'
import { serverUrl } from '../settings/server-url.js'

/** Where messages are sent. */
export const webhookFields = {
  url: serverUrl,
  /** Signs every message (HMAC-SHA256). */
  secret: secretReference,
  timeoutMs: z.int().min(10).max(120_000).default(10_000),
  answerBytesMax: byteSize('64 KB', { min: '1 KB', max: '1 MB' }),
  caFile: z.string().min(1).optional(),
} as const

const webhookSettings = z.object(webhookFields)
export type WebhookSettings = z.output<typeof webhookSettings>
