import type { Context } from '../context.js'

/** What a check found; `todo` says what to do about it where it is not good. */
export interface Finding {
  readonly state: 'good' | 'warning' | 'bad'
  readonly detail: string
  readonly todo?: string
}

/** Looks at one thing and changes nothing. What it throws counts as bad. */
export interface Check {
  readonly name: string
  readonly look: (context: Context) => Promise<Finding>
}

export function good(detail: string): Finding {
  return { state: 'good', detail }
}

export function warning(detail: string, todo: string): Finding {
  return { state: 'warning', detail, todo }
}

export function bad(detail: string, todo: string): Finding {
  return { state: 'bad', detail, todo }
}
