import { Fault, faultCodes } from '../../schemas/fault.js'
import { failureCode } from '../metrics/registry.js'
import { withTimeout } from '../metrics/collect.js'

/** One thing that the page shows: what is asked, and how often while somebody watches. */
export interface Panel {
  readonly name: string
  readonly everyMs: number
  /** Bounded in rows and in time; a fault of it is shown in its place. */
  read(): Promise<unknown>
}

/** What a panel says: figures, or why there are none. */
export interface PanelUpdate {
  readonly name: string
  /** When, ISO 8601. */
  readonly at: string
  readonly figures?: unknown
  readonly fault?: { readonly code: string; readonly detail: string }
}

/** So long at most is waited where a panel could not be told, or somebody comes after nobody did. */
const againMs = 15_000

export interface Live {
  /** Hears of each panel at once if something is known of it, and then whenever it was asked. */
  watch(hear: (told: PanelUpdate) => void): () => void
  close(): void
}

/**
 * Asks each panel at its pace while somebody watches, once for all who do, also where watchers come
 * and go; nobody watching, nobody is asked.
 */
export function createLive(panels: readonly Panel[], onFailure: (error: unknown) => void): Live {
  const hearers = new Set<(told: PanelUpdate) => void>()
  const known = new Map<string, PanelUpdate>()
  const timers = new Map<string, NodeJS.Timeout>()
  const asking = new Set<string>()
  const turn = async (panel: Panel): Promise<void> => {
    if (hearers.size === 0 || asking.has(panel.name)) return
    asking.add(panel.name)
    const told = await ask(panel, onFailure)
    asking.delete(panel.name)
    known.set(panel.name, told)
    for (const hear of hearers) hear(told)
    plan(panel, told.fault === undefined ? panel.everyMs : Math.min(panel.everyMs, againMs))
  }
  const plan = (panel: Panel, inMs: number): void => {
    clearTimeout(timers.get(panel.name))
    if (hearers.size === 0) return
    timers.set(
      panel.name,
      setTimeout(() => void turn(panel), inMs),
    )
  }
  const stop = () => {
    for (const timer of timers.values()) clearTimeout(timer)
    timers.clear()
  }
  return {
    watch: (hear) => {
      hearers.add(hear)
      for (const told of known.values()) hear(told)
      if (hearers.size === 1) {
        for (const panel of panels) plan(panel, untilDue(panel, known.get(panel.name)))
      }
      return () => {
        hearers.delete(hear)
        if (hearers.size === 0) stop()
      }
    },
    close: () => {
      hearers.clear()
      stop()
    },
  }
}

/** Milliseconds; what is not known, or could not be told, is due. */
function untilDue({ everyMs }: Panel, told: PanelUpdate | undefined): number {
  if (told === undefined || told.fault !== undefined) return 0
  return Math.max(0, Date.parse(told.at) + Math.min(everyMs, againMs) - Date.now())
}

/** A fault of the store names its statement, which says nothing to who watches. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Fault)) return 'the log of the worker tells more'
  return error.code.startsWith('STORE_') ? faultCodes[error.code].meaning : error.detail
}

async function ask({ name, read }: Panel, onFailure: (error: unknown) => void): Promise<PanelUpdate> {
  const at = () => new Date().toISOString()
  try {
    return { name, figures: await withTimeout(read()), at: at() }
  } catch (error) {
    onFailure(error)
    return { name, fault: { code: failureCode(error), detail: wordsOf(error) }, at: at() }
  }
}
