import { z } from 'zod'
import { serviceUsers } from '../settings/gateway-bind.js'
import { strict } from '../strict.js'
import { connectSettings } from './connect.js'
import { webhookFields } from './webhook.js'

const noticeSettings = strict({
  ...webhookFields,
  lookSeconds: z.int().min(1).max(3_600).default(10),
})
export type NoticeSettings = z.output<typeof noticeSettings>

/** The body of a notice: changes up to this number can be pulled. It may be sent more than once. */
export const noticeSchema = strict({
  v: z.literal(1),
  database: z.string(),
  publishedSeq: z.int().min(0),
})
export type NoticeMessage = z.output<typeof noticeSchema>

/** What customers and the platform may read through the gateway; without the section nothing. */
export const readsSettings = strict({
  /** The service accounts that may pull changes of all customers; without them there is no such route. */
  users: serviceUsers.optional(),
  /** Where the platform is notified that there is something to pull. */
  notify: noticeSettings.optional(),
  /** Which applications may read by Connect My Data; its routes are served only where this is set. */
  connect: connectSettings.optional(),
  /** Statements in the store at the same time. */
  lanes: z.int().min(1).max(64).default(4),
  /** How long a request waits for a lane; beyond it 503. */
  waitMsMax: z.int().min(10).max(60_000).default(2_000),
  /** Of one statement; beyond it 503. */
  secondsMax: z.int().min(1).max(60).default(5),
  /** Requests of one customer at the same time; beyond it 429. */
  perCustomerMax: z.int().min(1).max(100).default(4),
  /** Green Button downloads at the same time; beyond it 503. */
  feedsMax: z.int().min(1).max(1_000).default(20),
  /** Points, bills or changes of one answer; the rest follows by its cursor. */
  pageMax: z.int().min(10).max(10_000).default(3_000),
  /** Days from the first to the last of a request; beyond it 400. */
  daysMax: z.int().min(1).max(36_500).default(1_100),
})
export type ReadsSettings = z.output<typeof readsSettings>
