import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../ask.js'
import type { Credentials } from './http/auth.js'

export interface WatchdogPace {
  readonly everyMs: number
  readonly timeoutMs: number
  readonly missesMax: number
}

export interface Watched {
  /** The engine's process; undefined until its first response, because a start may be slow. */
  pid(): number | undefined
  readonly url: string
  readonly credentials: Credentials
  readonly pace: WatchdogPace
  /** Called when the engine missed too many checks and has to be killed. */
  readonly onHang: (pid: number) => void
}

/** Three misses of 10 seconds: a machine with 56 heavy statements still responds in time. */
export const defaultPace: WatchdogPace = { everyMs: 5000, timeoutMs: 10_000, missesMax: 3 }

/** Polls the engine with `SELECT 1` until `stop`, independently of other statements. */
export function watch(watched: Watched): { stop(): void } {
  const stopping = new AbortController()
  const { pace } = watched
  const round = async (): Promise<void> => {
    let misses = 0
    let lastPid: number | undefined
    while (!stopping.signal.aborted) {
      await sleep(pace.everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      const pid = watched.pid()
      if (pid === undefined || pid !== lastPid) misses = 0
      lastPid = pid
      if (pid === undefined || stopping.signal.aborted || (await answers(watched))) {
        misses = 0
      } else if (++misses >= pace.missesMax && pid === watched.pid()) {
        misses = 0
        watched.onHang(pid)
      }
    }
  }
  void round()
  return { stop: () => stopping.abort() }
}

async function answers({ url, credentials, pace }: Watched): Promise<boolean> {
  const basic = Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')
  const headers = { Authorization: `Basic ${basic}` }
  return ask(`${url}/health`, { headers, timeoutMs: pace.timeoutMs }).then(
    () => true,
    () => false,
  )
}
