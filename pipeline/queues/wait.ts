import { z } from 'zod'
import { Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'
import type { JobName } from './jobs.js'

/** What the progress of a job tells of its failures. */
export interface Failures {
  /** Of its own: those that end it when they are too many. */
  readonly failures: number
  /** What of the world holds it up, and since when. */
  readonly wait?: Held | undefined
}

/** Why something waits; a fault's code and detail. */
export interface Held {
  readonly code: FaultCode
  readonly detail: string
  readonly since: Date
}

/** A job that a fault of the world holds up: it is tried again until that has passed. */
export interface Wait extends Held {
  readonly job: JobName
  /** Undefined for a job that is no step of one. */
  readonly arrival: number | undefined
}

const codes = Object.keys(faultCodes) as [FaultCode, ...FaultCode[]]
const heldSchema = z.object({ code: z.enum(codes), detail: z.string(), since: z.coerce.date() })
const failuresSchema = z
  .object({ failures: z.int().catch(0), wait: heldSchema.optional().catch(undefined) })
  .catch({ failures: 0 })

/** The failures of a job as its progress has them; none where it has another content. */
export function fromProgress(progress: unknown): Failures {
  return failuresSchema.parse(progress)
}

/** The same cause goes on: it holds since it was first seen. */
export function holdUp(error: Fault, before: Held | undefined): Held {
  const { code, detail } = error
  const since = before?.code === code ? before.since : new Date()
  return { code, detail, since }
}

/** What a fault of the world is; undefined for anything else. */
export function passingFault(error: unknown): Fault | undefined {
  return error instanceof Fault && error.retry ? error : undefined
}
