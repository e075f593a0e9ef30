import { join } from 'node:path'
import { grouped } from '../../infra/commands/output/table.js'
import { numberedMeters } from '../../infra/demo/customers.js'
import { usageFile } from '../../infra/demo/usage-file.js'
import { createReplicatedRig } from '../chaos/replicas/rig.js'
import { measureOnRig } from '../rig.js'
import { median } from './figures.js'
import { createThroughTieline } from './through-tieline.js'
import type { UsageBenchmark } from './usage.js'

/** What `--json` writes: medians of seconds and of processor seconds of worker and engine. */
export interface ReplicatedFigures {
  readonly rows: number
  readonly oneSeconds: number
  readonly replicasSeconds: number
  readonly replicasOverOne: number
  readonly oneProcessorSeconds: number
  readonly replicasProcessorSeconds: number
}

/**
 * Loads the same file into one server and into two replicas, in turn. Both replicas are databases of one
 * engine, which writes and merges everything twice; chunks are sent to it instead of read from the landing.
 */
export async function measureReplicated(
  options: Pick<UsageBenchmark, 'customers' | 'rounds' | 'json' | 'print'>,
): Promise<ReplicatedFigures> {
  const { print, customers, rounds } = options
  print('estimate: 2.5 times one server: all is written twice, and statements wait for a majority')
  return measureOnRig(options, {}, async (rig) => {
    const { timeZone, companyCodes } = rig.profile
    const profile = { timeZone, companyCodes }
    const other = await createReplicatedRig({ name: 'bench-replicas', profile, say: print })
    const path = join(rig.files, 'day.csv')
    const { rows } = await usageFile(path, {
      ...{ meters: numberedMeters(customers), seed: 20_260_305, firstDay: '2026-03-04', days: 1 },
      ...{ intervalSeconds: 900, zone: timeZone, badShare: 0 },
    })
    const through = {
      one: await createThroughTieline(rig),
      replicas: await createThroughTieline(other),
    }
    const seconds = { one: [] as number[], replicas: [] as number[] }
    const processor = { one: [] as number[], replicas: [] as number[] }
    try {
      for (let round = 0; round <= rounds; round++) {
        for (const name of ['one', 'replicas'] as const) {
          const passage = await through[name].measure(path)
          if (passage.receipt.rows.accepted !== rows) throw new Error(`${name}: rows are missing`)
          print(
            `${round === 0 ? 'warm-up' : `round ${round}`}  ${name} ${passage.seconds.toFixed(2)} s`,
          )
          if (round === 0) continue
          seconds[name].push(passage.seconds)
          processor[name].push(passage.processorSeconds)
        }
      }
    } finally {
      for (const one of Object.values(through)) await one.close()
      await other.close()
    }
    const figures = {
      rows,
      ...{ oneSeconds: median(seconds.one), replicasSeconds: median(seconds.replicas) },
      replicasOverOne: median(seconds.replicas) / median(seconds.one),
      oneProcessorSeconds: median(processor.one),
      replicasProcessorSeconds: median(processor.replicas),
    }
    print(`${grouped(rows)} rows; one server ${speed(rows, figures.oneSeconds)}`)
    print(`two replicas ${speed(rows, figures.replicasSeconds)}`)
    print(`replicas over one server ${figures.replicasOverOne.toFixed(2)}  (no limit is asked)`)
    return figures
  })
}

function speed(rows: number, seconds: number): string {
  return `${seconds.toFixed(2)} s, ${grouped(Math.round(rows / seconds))} rows/s`
}
