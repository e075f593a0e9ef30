import { createHash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../../schemas/fault.js'
import { type FeedName, feedNames } from '../../schemas/feed.js'
import { identifierSchema } from '../../schemas/gateway/customer.js'
import { registrationSchema } from '../../schemas/gateway/registration.js'
import { chunkFormats } from '../../schemas/manifest.js'
import { timestampFormatNames } from '../../schemas/time/timestamp.js'

const version = { v: z.literal(1) }
const arrival = z.int().positive()
const count = z.int().nonnegative()
/** The machine that must run a job as long as it reports; any may if none is named. */
const machine = z.string().optional()

/** The part of a job that names its machine, if there is one. */
export function onMachine(name: string | undefined): { readonly machine?: string } {
  return name ? { machine: name } : {}
}
/** Files of one `gather` job, and of a group, at most. */
export const groupFilesMax = 200
/** Customers of one `register` job, at most. */
export const registrationsMax = 100

/**
 * What the data of each queue's jobs may hold: ids, offsets and codes, never any part of a row.
 * `v` is the version of the format: a job of another release's format is recognised by it.
 */
const jobSchemas = {
  poll: z.strictObject({ ...version, source: z.string() }),
  fetch: z.strictObject({ ...version, arrival }),
  receive: z.strictObject({ ...version, arrival, machine }),
  /** Small files that came together. */
  gather: z.strictObject({ ...version, arrivals: z.array(arrival).min(1).max(groupFilesMax) }),
  load: z.strictObject({
    ...version,
    arrival,
    feed: z.enum(feedNames as readonly [FeedName, ...FeedName[]]),
    machine,
    seconds: count,
    format: z.enum(timestampFormatNames).nullable(),
    startsMax: z.int().optional(),
    columns: z.array(z.string()).readonly().optional(),
    extraColumns: count.optional(),
    stated: z.boolean().optional(),
    qualities: z.boolean().optional(),
    times: z
      .strictObject({
        dateOrder: z.enum(['MDY', 'DMY']).optional(),
        clock: z.enum(['wall', 'standard']).optional(),
        stamp: z.enum(['start', 'end']).optional(),
        length: count.optional(),
      })
      .optional(),
    chunk: z.strictObject({
      chunk: count,
      line: count,
      lines: count,
      rows: count,
      bytes: count,
      crc32: count,
      format: z.enum(chunkFormats),
      crlf: z.boolean(),
      repeats: z.boolean(),
      cutLine: count.optional(),
    }),
  }),
  reconcile: z.strictObject({ ...version, arrival, machine }),
  settle: z.strictObject({ ...version, arrival, machine }),
  days: z.strictObject({ ...version }),
  reprocess: z.strictObject({ ...version, arrival }),
  sweep: z.strictObject({ ...version }),
  /** `night` is set once a day: that run also does what takes long. */
  retain: z.strictObject({ ...version, night: z.literal(true).optional() }),
  alert: z.strictObject({ ...version }),
  /** `night` is set once a day: that run also compares stored days, and each machine hashes its kept files. */
  verify: z.strictObject({ ...version, night: z.literal(true).optional() }),
  register: z.strictObject({
    ...version,
    customers: z.array(registrationSchema).max(registrationsMax),
    /** Clients whose accounts the CIS reports as closed. */
    closed: z.array(identifierSchema).max(registrationsMax).optional(),
    /** Its place in the order of registrations. */
    turn: count.optional(),
  }),
  backfill: z.strictObject({ ...version, meterId: identifierSchema }),
  due: z.strictObject({ ...version }),
  bill: z.strictObject({ ...version, cycleId: z.string(), start: z.iso.date() }),
  compare: z.strictObject({ ...version, cycleId: z.string() }),
} as const

export type JobName = keyof typeof jobSchemas
export type JobData<N extends JobName> = z.infer<(typeof jobSchemas)[N]>
export const jobNames = Object.keys(jobSchemas) as JobName[]

/** Queues whose waiting jobs operators see. */
export const shownQueues: readonly JobName[] = [
  ...(['fetch', 'gather', 'receive', 'load'] as const),
  ...(['reconcile', 'settle', 'register', 'backfill'] as const),
]

/** Steps that no file or customer waits for: a dead worker's job is looked for less often. */
export const patient: readonly JobName[] = [
  ...(['reprocess', 'retain', 'alert', 'verify', 'due', 'bill', 'compare'] as const),
]

/**
 * Steps that run again when they are queued again: once done, their id is removed. Of the others it stays until
 * another job of the queue is done after `keepSeconds`; a restored store gives the number out again.
 */
export const forgotten: readonly JobName[] = [
  ...(['fetch', 'gather', 'receive', 'reconcile', 'settle', 'retain', 'register'] as const),
  ...(['backfill', 'bill', 'compare', 'reprocess', 'verify', 'days'] as const),
]

const keepSeconds = 60
/** Passing faults are retried for as long as they last; other failures end after `attemptsMax`. */
export const worldAttemptsMax = 1_000_000

const jobOptions = {
  attempts: worldAttemptsMax,
  backoff: { type: 'custom' },
  removeOnComplete: { age: keepSeconds, count: 10_000 },
  removeOnFail: true,
  // Each attempt would add one, and rewrite them all.
  stackTraceLimit: 1,
} as const

/** What a run of the night is queued with; one that comes every few seconds has one attempt. */
export const nightly = { ...jobOptions, removeOnComplete: true } as const

/** What a job is queued with. */
export function optionsOf<N extends JobName>(name: N, data: JobData<N>) {
  const { removeOnComplete } = jobOptions
  return {
    ...jobOptions,
    removeOnComplete: forgotten.includes(name) || removeOnComplete,
    jobId: jobId(name, data),
    // BullMQ runs what waited for its children newest first, unless it has a priority.
    ...(name === 'reconcile' && { priority: 1 }),
  }
}

/** Jobs that repeat on a schedule. */
export const repeated = [
  'poll',
  'sweep',
  'retain',
  'due',
  'alert',
  'verify',
] as const satisfies JobName[]
export type Repeated = (typeof repeated)[number]

/** How often a job repeats: every so many milliseconds, or by a cron pattern in a time zone. */
export type Repetition =
  | { readonly every: number }
  | { readonly pattern: string; readonly tz: string }

const tickMs = 1_000
/** Between two nights, of which a clock change makes one longer. */
const nightMsMax = 25 * 3_600_000

/** The longest time to the next run, in milliseconds, unless the clock was set back. */
export function longestMs(repetition: Repetition): number {
  return 'every' in repetition ? repetition.every + tickMs : nightMsMax
}

/**
 * The data of a job, checked against its queue's schema. Throws for an unknown format. The fault
 * names only paths of the schema, because such data may hold anything.
 */
export function parseJob<N extends JobName>(name: N, data: unknown): JobData<N> {
  const parsed = jobSchemas[name].safeParse(data)
  if (parsed.success) return parsed.data as JobData<N>
  const issues = parsed.error.issues.map(({ path, code }) => [...path, code].join(' '))
  throw new Fault('CONFIG', `a ${name} job is not of a known format: ${issues.join(', ')}`)
}

/** The parts of a job that may be logged. */
export interface JobIds {
  readonly arrival?: number | undefined
  readonly arrivals?: readonly number[] | undefined
  readonly chunk?: number | undefined
}

const idsSchema = z.object({
  arrival: arrival.optional().catch(undefined),
  arrivals: z.array(arrival).optional().catch(undefined),
  chunk: z.object({ chunk: count }).optional().catch(undefined),
})

/** The ids in the data of a job, of an unknown format too. */
export function idsOf(data: unknown): JobIds {
  const { arrival, arrivals, chunk } = idsSchema.safeParse(data).data ?? {}
  return { arrival, ...(arrivals && { arrivals }), chunk: chunk?.chunk }
}

/**
 * A job's id is derived from what it does, so that adding it twice adds it once. A registration is never the same as
 * another: behind one that waits, another may already say something else of the same customer.
 */
export function jobId<N extends JobName>(name: N, data: JobData<N>): string {
  const parts: unknown[] = [name]
  if ('source' in data) parts.push(data.source)
  if ('night' in data) parts.push('night')
  if ('arrival' in data) parts.push(data.arrival)
  if ('arrivals' in data) parts.push(data.arrivals[0], data.arrivals.at(-1), data.arrivals.length)
  if ('chunk' in data) parts.push(data.chunk.chunk)
  if ('customers' in data) parts.push(randomUUID())
  if ('meterId' in data) parts.push(hashOf(data.meterId))
  if ('cycleId' in data) parts.push(hashOf(data.cycleId))
  if ('start' in data) parts.push(data.start)
  return parts.join('-').replaceAll(':', '_')
}

/** Job ids appear in logs, so they must not contain identifiers of customers. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
}
