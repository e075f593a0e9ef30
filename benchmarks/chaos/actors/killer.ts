import { setTimeout as sleep } from 'node:timers/promises'
import { draw } from '../../../infra/demo/draw.js'
import { askRedis } from '../../../infra/redis/ask.js'
import type { StackPart } from '../../../infra/stack/servers.js'
import type { Rig } from '../../rig.js'
import { isIn, reached, type Step, steps } from '../moments.js'

export const targets = ['worker', 'clickhouse', 'redis'] as const
export type Target = (typeof targets)[number]

export interface Kill {
  readonly target: Target
  /** The step that was waited for, or `at random`. */
  readonly moment: Step | 'at random'
  /** Whether the ledger still showed the step when the worker was dead. */
  readonly isProven: boolean
}

export interface Killer {
  readonly kills: readonly Kill[]
  flushes(): number
  /** The kill of a number: each target in turn, every other time at a named step. */
  kill(index: number): Promise<void>
  /** Empties Redis, once it answers. */
  flush(): Promise<void>
}

const streams = { order: 21, delay: 22, burst: 23 } as const
const delayMsMax = 1_000
const burstMsMax = 200
const stepMsMax = 6_000
const flushEvery = 5
const lookMs = 50
const backMsMax = 120_000
/** A worker that has had its process for so long is at work. */
const workerStartMs = 1_000

export function createKiller(rig: Rig, seed: number): Killer {
  const kills: Kill[] = []
  let flushes = 0
  const flush = async () => {
    const empty = () => askRedis(rig.stack.redisUrl, 'FLUSHALL').catch(() => '')
    await until(async () => (await empty()) === 'OK')
    flushes++
  }
  /** Every third kill falls into the time in which the last one still hurts. */
  const wait = async (index: number) => {
    const isBurst = draw(seed, streams.burst, index) % 3 === 0
    if (!isBurst) await untilWhole(rig)
    await sleep(draw(seed, streams.delay, index) % (isBurst ? burstMsMax : delayMsMax))
  }
  const kill = async (index: number) => {
    const target = targetOf(seed, index)
    const part = partOf(rig, target)
    const aimed = index % 2 === 1 ? steps[(index >> 1) % steps.length] : undefined
    await wait(index)
    await untilAlive(part)
    const isThere = aimed !== undefined && (await reached(rig, aimed, { msMax: stepMsMax }))
    await untilAlive(part)
    void part.kill()
    const isProven = aimed !== undefined && target === 'worker' && (await isIn(rig, aimed))
    kills.push({ target, moment: isThere ? aimed : 'at random', isProven })
    if (index % flushEvery === flushEvery - 1) await flush()
  }
  return {
    kills,
    flushes: () => flushes,
    flush,
    kill,
  }
}

/** Each target once in three kills, in an order that the seed shuffles. */
function targetOf(seed: number, index: number): Target {
  const round = Math.floor(index / targets.length)
  const order = targets.toSorted(
    (a, b) => rankOf(seed, { round, target: a }) - rankOf(seed, { round, target: b }),
  )
  return order[index % targets.length] ?? targets[0]
}

function rankOf(seed: number, at: { readonly round: number; readonly target: Target }): number {
  return draw(seed, streams.order + targets.indexOf(at.target) * 100, at.round)
}

function partOf(rig: Rig, target: Target): StackPart {
  const part = rig.stack[target]
  if (part === undefined) throw new Error(`${target} is run elsewhere and cannot be killed here`)
  return part
}

async function untilAlive(part: StackPart): Promise<void> {
  await until(() => part.pid() !== undefined)
}

/** Rejects when what was killed has not come back in time: a supervisor then does not do its work. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + backMsMax
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`the stack is not back in ${backMsMax} ms`)
    await sleep(lookMs)
  }
}

/** Until everything runs and answers again. */
async function untilWhole(rig: Rig): Promise<void> {
  let worker = rig.stack.worker.pid()
  let steadyFrom = performance.now()
  await until(async () => {
    const isStore = await rig.store.rows({ sql: 'SELECT 1' }).then(
      () => true,
      () => false,
    )
    const isQueue = await askRedis(rig.stack.redisUrl, 'PING').catch(() => '')
    const pid = rig.stack.worker.pid()
    if (pid !== worker || pid === undefined) {
      worker = pid
      steadyFrom = performance.now()
    }
    const isSteady = performance.now() - steadyFrom > workerStartMs
    return isStore && isQueue === 'PONG' && isSteady
  })
}
