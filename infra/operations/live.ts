import { withTimeout } from '../metrics/collect.js'
import { type Judge, type ShownFault, showFault } from './judge.js'

/** A part of the page: its query, and how often it runs while the page is open. */
export interface Panel {
  readonly name: string
  readonly everyMs: number
  /** Bounded in rows and time; a fault is shown instead of its figures. */
  read(): Promise<unknown>
}

/** The latest figures of a panel, and the fault that prevents newer ones. */
export interface PanelUpdate {
  readonly name: string
  /** ISO 8601. */
  readonly at: string
  readonly figures?: unknown
  /** When the figures were read; ISO 8601. */
  readonly figuresAt?: string
  readonly fault?: ShownFault
}

export interface LiveOptions {
  readonly judge: Judge
  readonly onFailure: (error: unknown) => void
}

/** Two requests in a row that a busy server leaves without an answer, and a ping. */
const panelMsMax = 8_000

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
export function createLive(panels: readonly Panel[], options: LiveOptions): Live {
  const watchers = new Set<(update: PanelUpdate) => void>()
  const known = new Map<string, PanelUpdate>()
  const timers = new Map<string, NodeJS.Timeout>()
  const running = new Set<string>()
  const run = async (panel: Panel): Promise<void> => {
    if (watchers.size === 0 || running.has(panel.name)) return
    running.add(panel.name)
    const update = await read(panel, options, known.get(panel.name))
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

/** After a failure the figures of the reading before are kept. */
async function read(
  { name, read }: Panel,
  { judge, onFailure }: LiveOptions,
  before: PanelUpdate | undefined,
): Promise<PanelUpdate> {
  try {
    const figures = await withTimeout(read(), panelMsMax)
    const at = new Date().toISOString()
    return { name, at, figures, figuresAt: at }
  } catch (failure) {
    const error = await judge(failure)
    onFailure(error)
    return { ...before, name, at: new Date().toISOString(), fault: showFault(error) }
  }
}
