import { z } from 'zod'
import { listProblems } from './problem.js'
import { sourceName } from './profile.js'

/** The version of the format of job data; a job of another version is not run. */
const v = z.literal(1)
const arrivalMax = 2n ** 64n - 1n
/** The number of an arrival, a UInt64, in decimal digits: JSON numbers end at 2^53. */
const arrival = z
  .string()
  .regex(/^(0|[1-9]\d{0,19})$/)
  .refine((digits) => BigInt(digits) <= arrivalMax)
const count = z.int().min(0)
const step = z.strictObject({ v, arrival }).readonly()

/** What the jobs of each queue carry: ids, sizes and times, never rows or anything of a person. */
export const jobSchemas = {
  receive: z
    .strictObject({
      v,
      source: sourceName,
      name: z.string().min(1).max(255),
      bytes: count,
      modifiedMs: count,
      path: z.string().min(1).optional(),
      finished: z.boolean(),
      arrival,
    })
    .readonly(),
  load: z.strictObject({ v, arrival, chunk: count }).readonly(),
  reconcile: step,
  publish: step,
  settle: step,
  poll: z.strictObject({ v, source: sourceName }).readonly(),
  sweep: z.strictObject({ v }).readonly(),
} as const

export type JobName = keyof typeof jobSchemas
export type JobData<N extends JobName> = z.output<(typeof jobSchemas)[N]>

export const jobNames = Object.keys(jobSchemas) as readonly JobName[]

const stepId = (data: JobData<'publish'>) => data.arrival
const ids: { readonly [N in JobName]: (data: JobData<N>) => string } = {
  receive: ({ arrival, bytes, modifiedMs, finished }) =>
    `${arrival}-${bytes}-${modifiedMs}-${finished ? 'finished' : 'unfinished'}`,
  load: ({ arrival, chunk }) => `${arrival}-${chunk}`,
  reconcile: stepId,
  publish: stepId,
  settle: stepId,
  poll: ({ source }) => source,
  sweep: () => 'all',
}

/**
 * The data of a job as it came from the queue. Throws TypeError, with every problem, for data that
 * is not of this version: no file is at fault, so it is no Fault.
 */
export function parseJob<N extends JobName>(name: N, data: unknown): JobData<N> {
  const parsed = jobSchemas[name].safeParse(data)
  if (!parsed.success) throw new TypeError(`job ${name}: ${listProblems(parsed.error)}`)
  return parsed.data as JobData<N>
}

/**
 * A job's id says what it does, so that adding it twice adds it once: `load-17-3`. A file that is
 * received again because its size or time has changed is another job. Never holds `:` (BullMQ).
 */
export function jobId<N extends JobName>(name: N, data: JobData<N>): string {
  return `${name}-${ids[name](data)}`
}
