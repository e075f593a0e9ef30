import { writeFileSync } from 'node:fs'
import { grouped } from '../../infra/commands/output/table.js'
import { residentMb } from '../memory.js'
import { createGatewayRig, type GatewayRig } from './rig.js'
import { wrk } from './wrk.js'

export interface MemoryBenchmark {
  readonly requests: number
  readonly tokens: number
  readonly connections: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: megabytes (10^6 bytes) of resident memory of the gateway's process. */
export interface MemoryFigures {
  readonly requests: number
  readonly tokens: number
  /** One look after each slice of the requests. */
  readonly looks: readonly { readonly requests: number; readonly residentMb: number }[]
  /** The most seen in the second and in the fourth quarter of the requests, and their ratio. */
  readonly secondQuarterMb: number
  readonly fourthQuarterMb: number
  readonly growth: number
}

const sliceSeconds = 10

/**
 * Sends logins with more different tokens than the gateway remembers, and looks at its memory. Each
 * slice begins at another token.
 */
export async function measureMemory(options: MemoryBenchmark): Promise<MemoryFigures> {
  const { print, json } = options
  print(`signing ${grouped(options.tokens)} tokens, starting the servers`)
  print('estimate: 100,000 remembered by hash at 0.5 KB, 8 MB as they are, 200 MB of young memory')
  const rig = await createGatewayRig(options.tokens)
  try {
    const figures = summarize(options, await drive(rig, options))
    print(
      `second quarter ${figures.secondQuarterMb} MB, fourth ${figures.fourthQuarterMb} MB, ` +
        `growth ${figures.growth}`,
    )
    if (json) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`)
    return figures
  } finally {
    await rig.close()
  }
}

async function drive(rig: GatewayRig, options: MemoryBenchmark): Promise<MemoryFigures['looks']> {
  const looks: { requests: number; residentMb: number }[] = []
  let requests = 0
  while (requests < options.requests) {
    const sent = await wrk({
      url: rig.urls.warm,
      script: rig.scripts.each,
      connections: options.connections,
      seconds: sliceSeconds,
    })
    if (sent.errors > 0) throw new Error(`${sent.errors} answers were wrong`)
    requests += sent.requests
    const look = { requests, residentMb: Math.round(residentMb(rig.warmPid()) ?? Number.NaN) }
    looks.push(look)
    options.print(`${grouped(requests).padStart(10)} requests  ${look.residentMb} MB`)
  }
  return looks
}

function summarize(
  { tokens, requests: planned }: MemoryBenchmark,
  looks: MemoryFigures['looks'],
): MemoryFigures {
  const most = (from: number, to: number) =>
    Math.max(
      ...looks
        .filter(({ requests }) => requests > planned * from && requests <= planned * to)
        .map(({ residentMb }) => residentMb),
    )
  const secondQuarterMb = most(0.25, 0.5)
  const fourthQuarterMb = most(0.75, Number.POSITIVE_INFINITY)
  return {
    requests: looks.at(-1)?.requests ?? 0,
    tokens,
    looks,
    secondQuarterMb,
    fourthQuarterMb,
    growth: Math.round((fourthQuarterMb / secondQuarterMb) * 1_000) / 1_000,
  }
}
