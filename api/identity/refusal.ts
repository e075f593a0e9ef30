import type { Answer } from '../answer.js'
import type { Identified } from './identity.js'

export type Refused = Extract<Identified, { readonly kind: 'refused' }>

/** A refused token. `detail` is for the operator's log and never for a client. */
export function refused(reason: string, detail?: string): Refused {
  return { kind: 'refused', reason, ...(detail === undefined ? {} : { detail }) }
}

/**
 * The reason and the detail of a refusal, for the log. They stay apart, since a client chooses the detail:
 * metrics count by the reason, and would keep a series for each text.
 */
export function logRefusal({ reason, detail }: Refused): Pick<Answer, 'reason' | 'reasonDetail'> {
  return { reason, ...(detail !== undefined && { reasonDetail: detail }) }
}

/** The reason of a refusal with its detail, for the operator. */
export function spellRefusal({ reason, detail }: Refused): string {
  return detail === undefined ? reason : `${reason}: ${detail}`
}

const shownMax = 5
/** Names of systems: identifiers and addresses without user, query and fragment, never `@` or blanks. */
const plain = /^[\w.:/~-]{1,200}$/

/**
 * What a token has and what the profile wants. A value that does not look like the name of a system is
 * left out: it may be a person's (decision 8).
 */
export function describeMismatch(has: unknown, wanted: readonly string[]): string {
  const values: readonly unknown[] = Array.isArray(has) ? has : has === undefined ? [] : [has]
  const shown = values
    .slice(0, shownMax)
    .map((one) => (typeof one === 'string' && plain.test(one) ? one : '(not a plain name)'))
  const more = values.length > shownMax ? ` and ${values.length - shownMax} more` : ''
  return `the token has ${shown.join(', ') || 'none'}${more}, the profile wants ${wanted.join(' or ')}`
}

const units = [
  { unit: 'days', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'min', ms: 60_000 },
] as const

/** How long ago a token expired, in the largest unit of which two have passed. */
export function describeExpiry(expiresAt: number, now: number): string {
  const ms = Math.max(now - expiresAt, 0)
  const { unit, ms: length } = units.find((one) => ms >= 2 * one.ms) ?? { unit: 's', ms: 1_000 }
  return `${Math.floor(ms / length)} ${unit} ago`
}
