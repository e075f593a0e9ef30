import { z } from 'zod'
import { type FeedName, feedNames } from '../feed.js'
import { webhookFields } from '../gateway/webhook.js'
import { strict } from '../strict.js'
import { byteSize } from './byte-size.js'

const feed = z.enum(feedNames as readonly [FeedName, ...FeedName[]])
const weekday = z.enum(['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'])
export type Weekday = z.output<typeof weekday>

/** A file that is expected on some days by a local time of the meters' zone. */
const expectedFile = strict({
  company: z.string().min(1, 'name a company code'),
  feed,
  by: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'use a local time from 00:00 to 23:59'),
  days: z.array(weekday).min(1, 'name at least one day').readonly().default(weekday.options),
  /** How many days the date in its name precedes the day on which it is due. */
  daysBack: z.int().min(0).max(31).default(0),
})
export type ExpectedFile = z.output<typeof expectedFile>

const expected = z
  .array(expectedFile)
  .max(200)
  .refine(
    (list) => new Set(list.map(({ company, feed }) => `${company} ${feed}`)).size === list.length,
    {
      error: 'name each feed of a company once',
    },
  )
  .readonly()
  .prefault([])

/** Where alerts are sent, and their thresholds. */
export const alertSettings = strict({
  ...webhookFields,
  /** An alert that is not resolved is repeated at this interval. */
  repeatHours: z.number().positive().max(8_760).default(24),
  lookSeconds: z.int().min(1).max(3_600).default(60),
  /** A source or a job that fails for this long raises an alert. */
  failingMinutes: z.number().min(0).max(10_080).default(10),
  freeDiskBytesMin: byteSize('5 GB', { min: '0 B', max: '100 TB' }),
  expected,
})
export type AlertSettings = z.output<typeof alertSettings>

const count = z.int().min(0)
const code = z.string()

/** The problem, by kind: identifiers, codes and counts, no data of a row or a person. */
const about = z.discriminatedUnion('kind', [
  /** A file was quarantined, and no file of the same name was published since. */
  strict({ kind: z.literal('quarantined'), arrival: z.int().positive(), code }),
  /** The newest interval of a commodity is older than `usage.lateAfterHours`. */
  strict({ kind: z.literal('late'), company: z.string(), feed, ageHours: z.int() }),
  /** The latest expected file, dated `fileDate`, has not arrived; `files` counts those missing in a row, 31 at most. */
  strict({
    kind: z.literal('missing'),
    company: z.string(),
    feed,
    fileDate: z.iso.date(),
    files: z.int().positive(),
  }),
  strict({ kind: z.literal('source'), source: z.string(), code, failures: count }),
  /** Requests to a system fail: cis, ami, mdm, or identity with the address of the provider. */
  strict({ kind: z.literal('system'), system: z.string(), code, failures: count }),
  /**
   * Jobs of a queue that keep failing, with the code of the one that has failed longest; `verify` with the code
   * `OVERDUE` where stored rows were not verified for two days, and `days` with it where stored sums of days wait to be made again.
   */
  strict({ kind: z.literal('run'), job: z.string(), code, jobs: count }),
  /** The disk of the landing folder has too little space; `host` is the worker's machine. */
  strict({
    kind: z.literal('disk'),
    host: z.string(),
    freeBytes: count,
    freeBytesMin: count,
  }),
  /** Stored rows, parts or kept files are missing or damaged; `tieline status` lists them. */
  strict({ kind: z.literal('damage'), problems: z.int().positive(), arrivals: count, rows: count }),
  /** Sent by `tieline probe alert`. */
  strict({ kind: z.literal('test') }),
])
export type About = z.output<typeof about>

/**
 * The body of an alert. `key` is the same from the first `raised` to `resolved`. A message may be
 * delivered more than once, always with the same `id`. Instants are ISO 8601 in UTC.
 */
export const alertSchema = strict({
  v: z.literal(1),
  id: z.uuid(),
  key: z.string().min(1),
  state: z.enum(['raised', 'resolved']),
  /** Number of the message for this key: 1, 2, 3. */
  sequence: z.int().positive(),
  database: z.string(),
  since: z.iso.datetime(),
  notifiedAt: z.iso.datetime(),
  about,
})
export type AlertMessage = z.output<typeof alertSchema>
