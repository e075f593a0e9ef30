import { Fault, faultCodes } from '../../schemas/fault.js'
import { withTimeout } from '../metrics/collect.js'
import { failureCode } from '../metrics/registry.js'

/** A part of the page: its query, and how often it runs while the page is open. */
export interface Panel {
  readonly name: string
  readonly everyMs: number
  /** Bounded in rows and time; a fault is shown instead of its figures. */
  read(): Promise<unknown>
}

/** The latest figures of a panel, or the fault that prevented them. */
export interface PanelUpdate {
  readonly name: string
  /** ISO 8601. */
  readonly at: string
  readonly figures?: unknown
  readonly fault?: { readonly code: string; readonly detail: string }
}

/** Longest interval after a fault, or when the page is opened again. */
const retryMs = 15_000

export interface Live {
  /** Sends the known update of each panel at once, then each new one; returns the end of it. */
  watch(onUpdate: (update: PanelUpdate) => void): () => void
  close(): void
}

/**
 * Queries each panel at its interval, once for all watchers, also while they come and go. Without
 * watchers nothing is queried.
 */
export function createLive(panels: readonly Panel[], onFailure: (error: unknown) => void): Live {
  const watchers = new Set<(update: PanelUpdate) => void>()
  const known = new Map<string, PanelUpdate>()
  const timers = new Map<string, NodeJS.Timeout>()
  const running = new Set<string>()
  const run = async (panel: Panel): Promise<void> => {
    if (watchers.size === 0 || running.has(panel.name)) return
    running.add(panel.name)
    const update = await read(panel, onFailure)
    running.delete(panel.name)
    known.set(panel.name, update)
    for (const send of watchers) send(update)
    plan(panel, update.fault === undefined ? panel.everyMs : Math.min(panel.everyMs, retryMs))
  }
  const plan = (panel: Panel, inMs: number): void => {
    clearTimeout(timers.get(panel.name))
    if (watchers.size === 0) return
    timers.set(
      panel.name,
      setTimeout(() => void run(panel), inMs),
    )
  }
  const stop = () => {
    for (const timer of timers.values()) clearTimeout(timer)
    timers.clear()
  }
  return {
    watch: (onUpdate) => {
      watchers.add(onUpdate)
      for (const update of known.values()) onUpdate(update)
      if (watchers.size === 1) {
        for (const panel of panels) plan(panel, untilDue(panel, known.get(panel.name)))
      }
      return () => {
        watchers.delete(onUpdate)
        if (watchers.size === 0) stop()
      }
    },
    close: () => {
      watchers.clear()
      stop()
    },
  }
}

/** Milliseconds; a panel without figures is due. */
function untilDue({ everyMs }: Panel, update: PanelUpdate | undefined): number {
  if (update === undefined || update.fault !== undefined) return 0
  return Math.max(0, Date.parse(update.at) + Math.min(everyMs, retryMs) - Date.now())
}

/** The text of an error for the page, without the statement that a fault of the store names. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Fault)) return 'unexpected error; see worker.log'
  return error.code.startsWith('STORE_') ? faultCodes[error.code].meaning : error.detail
}

async function read(panel: Panel, onFailure: (error: unknown) => void): Promise<PanelUpdate> {
  const { name } = panel
  const at = () => new Date().toISOString()
  try {
    return { name, figures: await withTimeout(panel.read()), at: at() }
  } catch (error) {
    onFailure(error)
    return { name, fault: { code: failureCode(error), detail: messageOf(error) }, at: at() }
  }
}
