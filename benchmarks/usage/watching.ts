import { median, type WatchingFigures } from './figures.js'
import type { Passage, ThroughTieline } from './through-tieline.js'
import { createWatcher } from './watcher.js'

export interface Watching {
  readonly tieline: ThroughTieline
  /** Loads the file once and refuses a wrong receipt. */
  readonly load: () => Promise<Passage>
  readonly address: string | undefined
  readonly print: (line: string) => void
}

const pairs = 9
const idleSeconds = 20

/**
 * Loads the same file unwatched and watched, in pairs so that both meet the same machine, every
 * other pair the other way round. Loads scatter by more than watching costs; hence also the line at
 * rest, where nothing hides it.
 */
export async function measureWatching(options: Watching): Promise<WatchingFigures> {
  const { tieline, load, print } = options
  const watcher = await createWatcher(options.address)
  const figures: WatchingFigures['watching'] = {
    load: [],
    loadWatched: [],
    idle: [],
    idleWatched: [],
  }
  const note = (what: keyof typeof figures, value: number) => {
    figures[what].push(value)
    print(`  ${what.padEnd(16)} ${value.toFixed(3)} s of processor time`)
  }
  const seconds: Record<'load' | 'loadWatched', number[]> = { load: [], loadWatched: [] }
  const one = async (what: 'load' | 'loadWatched') => {
    if (what === 'loadWatched') await watcher.watch()
    const passage = await load()
    seconds[what].push(passage.seconds)
    note(what, passage.processorSeconds)
    if (what === 'loadWatched') {
      note('idleWatched', await tieline.idle(idleSeconds))
      await watcher.lookAway()
    } else note('idle', await tieline.idle(idleSeconds))
  }
  try {
    for (let pair = 0; pair < pairs; pair++) {
      const order = ['load', 'loadWatched'] as const
      for (const what of pair % 2 === 0 ? order : order.toReversed()) await one(what)
    }
  } finally {
    await watcher.close()
  }
  const over = (a: readonly number[], b: readonly number[]) =>
    median(a.map((value, at) => value / (b[at] as number)))
  const added = median(figures.idleWatched) - median(figures.idle)
  return {
    watchedOverUnwatched: over(seconds.loadWatched, seconds.load),
    watchedProcessorOverUnwatched: over(figures.loadWatched, figures.load),
    watchingOverLoad: added / over(figures.load, seconds.load),
    watching: figures,
  }
}
