import type { SourceState } from '../../../pipeline/sources/state.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import { utcText } from './table.js'

/** A source of the profile and its state. */
export interface SourceShown {
  readonly name: string
  readonly kind: string
  readonly state: 'polled' | 'paused' | 'failing'
  readonly since: string
  readonly failures: number
  readonly code: string
  readonly detail: string
  readonly retryAt: string
  /** What is not loaded because it is not a file, as a sentence. */
  readonly others: string
}

/** The state of each source for display. */
export function showSources(
  { sources }: Profile,
  states: ReadonlyMap<string, SourceState>,
): readonly SourceShown[] {
  const text = (at: Date | undefined) => (at === undefined ? '' : utcText(at))
  return sources.map(({ name, kind }) => {
    const { pausedAt, failure, others = '' } = states.get(name) ?? {}
    const failing = failure === undefined ? 'polled' : 'failing'
    return {
      name,
      kind,
      state: pausedAt === undefined ? failing : 'paused',
      since: text(pausedAt ?? failure?.since),
      failures: failure?.failures ?? 0,
      code: failure?.code ?? '',
      detail: failure?.detail ?? '',
      retryAt: pausedAt === undefined ? text(failure?.retryAt) : '',
      others,
    }
  })
}
