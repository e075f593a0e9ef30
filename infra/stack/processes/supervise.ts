import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { withDeadline } from '../../../pipeline/deadline.js'
import { Fault } from '../../../schemas/fault.js'

export interface SupervisedOptions {
  /** Name of the child in messages. */
  readonly name: string
  /** Starts the child; called again after each unexpected exit. */
  readonly start: () => ChildProcess
  /** Resolves when the child is ready; ignored if the child ends first. */
  readonly ready: (child: ChildProcess) => Promise<void>
  /** Asks the child to stop gracefully; SIGKILL follows after `stopMsMax`. */
  readonly stop: (child: ChildProcess) => void
  readonly readyMsMax: number
  /** The log that shows why a start fails, for messages. */
  readonly logPath: string
  readonly stopMsMax: number
  /** Called with a log message when the child ends, restarts or fails to start. */
  readonly onEvent?: (event: string) => void
  /** Called when a child that ended is replaced by one that is ready. */
  readonly onRestart?: ((restart: Restart) => void) | undefined
}

/** When a child ended, and how. */
export interface Restart {
  readonly beganAt: Date
  readonly detail: string
}

/** A child process that is restarted with back-off until `close`. */
export interface Supervised {
  pid(): number | undefined
  /** Kills the child with SIGKILL and resolves when it has ended; supervision restarts it. */
  kill(): Promise<void>
  close(): Promise<void>
}

const backoffMsFirst = 100
const backoffMsMax = 10_000
/** A child that ran this long resets the back-off. */
const steadyMs = 5_000

/**
 * Starts a child and keeps it running. Rejects if the first start fails: with the fault of `ready`,
 * or with `MISSING_PROGRAM` if the program cannot be run. Later failures are retried with a back-off
 * of 0.1 to 10 seconds.
 */
export async function supervise(options: SupervisedOptions): Promise<Supervised> {
  const closing = new AbortController()
  let child = await startOnce(options)
  const keep = async (): Promise<void> => {
    let backoffMs = backoffMsFirst
    let restart: Restart | undefined
    while (!closing.signal.aborted) {
      const livedFrom = performance.now()
      await ended(child)
      if (closing.signal.aborted) return
      restart ??= { beganAt: new Date(), detail: endOf(child) }
      options.onEvent?.(`${options.name} ended (${endOf(child)}); restarting it`)
      if (performance.now() - livedFrom > steadyMs) backoffMs = backoffMsFirst
      await sleep(backoffMs, undefined, { signal: closing.signal }).catch(() => undefined)
      backoffMs = Math.min(backoffMs * 2, backoffMsMax)
      if (closing.signal.aborted) return
      try {
        child = await startOnce({ ...options, start: () => (child = options.start()) })
        options.onEvent?.(`${options.name} runs again (pid ${child.pid})`)
        options.onRestart?.(restart)
        restart = undefined
      } catch (error) {
        options.onEvent?.(`${options.name} did not start: ${String(error)}`)
      }
    }
  }
  const kept = keep()
  return {
    pid: () => (hasEnded(child) ? undefined : child.pid),
    kill: () => {
      child.kill('SIGKILL')
      return ended(child)
    },
    close: async () => {
      closing.abort()
      await endChild(child, options)
      await kept
      await endChild(child, options)
    },
  }
}

/** Starts the child once: resolves when it is ready, otherwise kills it and rejects. */
async function startOnce(options: SupervisedOptions): Promise<ChildProcess> {
  const child = options.start()
  try {
    const started = Promise.race([options.ready(child), failure(child, options)])
    await withDeadline(started, options.readyMsMax, () => {
      throw toLateFault(options)
    })
    return child
  } catch (error) {
    child.kill('SIGKILL')
    if (child.pid !== undefined) await ended(child)
    throw error
  }
}

function toLateFault({ name, readyMsMax, logPath }: SupervisedOptions): Fault {
  const late = `${name} was not ready within ${readyMsMax / 1_000} s`
  const remedy = 'if the machine is busy, stop other programs or give it more memory and cores'
  return new Fault('CONFIG', `${late}; see ${logPath} for what it waits for; ${remedy}`)
}

function failure(child: ChildProcess, { name, logPath }: SupervisedOptions): Promise<never> {
  return new Promise((_, reject) => {
    child.once('error', (cause) => {
      reject(new Fault('MISSING_PROGRAM', `${name} cannot be run: ${cause.message}`, { cause }))
    })
    child.once('exit', () => {
      const detail = `${name} ended while starting (${endOf(child)})`
      reject(new Fault('CONFIG', `${detail}; see ${logPath} for the reason`))
    })
  })
}

async function endChild(child: ChildProcess, options: SupervisedOptions): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return
  options.stop(child)
  await withDeadline(ended(child), options.stopMsMax, () => undefined)
  if (!hasEnded(child)) child.kill('SIGKILL')
  await ended(child)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
}

function endOf(child: ChildProcess): string {
  return child.signalCode ?? `exit code ${child.exitCode}`
}
