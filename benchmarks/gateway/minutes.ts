import { writeFileSync } from 'node:fs'
import { residentMb } from '../memory.js'
import { median, verdict } from '../usage/figures.js'
import { createGatewayRig } from './rig.js'
import { wrk } from './wrk.js'

export interface MinutesBenchmark {
  readonly minutes: number
  readonly tokens: number
  readonly connections: number
  /** Shorter in tests. */
  readonly secondsEach?: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** Logins of a minute, and what the gateway's process holds at its end, MB. */
interface Minute {
  readonly requests: number
  readonly p99Ms: number
  readonly residentMb: number
}

/** What `--json` writes. The first minute warms up. */
export interface MinutesFigures {
  readonly minutes: readonly Minute[]
  /** The most of the last half over the most of the first half. */
  readonly growth: number
  /** The slowest minute over the median. */
  readonly p99OverMedian: number
}

const growthMax = 1.1
const p99Max = 2

/** Sends logins with each token in turn, as fast as they are answered, and looks at each minute. */
export async function measureMinutes(options: MinutesBenchmark): Promise<MinutesFigures> {
  const { tokens, connections, secondsEach = 60, json, print } = options
  print('estimate: all tokens are remembered in the first minute; memory and p99 stay as they are')
  const rig = await createGatewayRig(tokens)
  const minutes: Minute[] = []
  try {
    for (let at = 0; at < options.minutes; at++) {
      const sent = await wrk({
        url: rig.urls.warm,
        script: rig.scripts.each,
        connections,
        seconds: secondsEach,
      })
      if (sent.errors > 0) throw new Error(`${sent.errors} answers were wrong`)
      const { requests, p99Ms } = sent
      const held = Math.round(residentMb(rig.warmPid()) ?? Number.NaN)
      minutes.push({ requests, p99Ms, residentMb: held })
      print(`minute ${at + 1}  ${requests} logins  p99 ${p99Ms.toFixed(2)} ms  ${held} MB`)
    }
  } finally {
    await rig.close()
  }
  const figures = summarize(minutes)
  const { growth, p99OverMedian } = figures
  print(verdict(`growth of memory ${growth.toFixed(3)}`, growth <= growthMax, growthMax))
  const slowest = `p99 of the slowest minute over the median ${p99OverMedian.toFixed(2)}`
  print(verdict(slowest, p99OverMedian <= p99Max, p99Max))
  if (json) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`)
  return figures
}

function summarize(minutes: readonly Minute[]): MinutesFigures {
  const warm = minutes.slice(1)
  const half = warm.length >> 1
  const most = (some: readonly Minute[]) => Math.max(...some.map((one) => one.residentMb))
  const p99s = warm.map(({ p99Ms }) => p99Ms)
  return {
    minutes,
    growth: most(warm.slice(half)) / most(warm.slice(0, half)),
    p99OverMedian: Math.max(...p99s) / median(p99s),
  }
}
