import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { createWorker } from '../pipeline/worker.js'
import { Fault, type FaultCode } from '../schemas/fault.js'
import { packageRoot } from './package-root.js'
import { type Supervised, supervise } from './supervise.js'

/** What the worker runs with, apart from its log, which it opens itself. */
export type WorkerOptions = Omit<Parameters<typeof createWorker>[0], 'log'>

/** From parent to worker. Passwords travel in it, over the pipe between the two. */
export type WorkerRequest =
  | { readonly type: 'start'; readonly options: WorkerOptions; readonly logPath: string }
  | { readonly type: 'stop' }

/** From worker to parent. */
export type WorkerAnswer =
  | { readonly type: 'ready' }
  | {
      readonly type: 'failed'
      readonly code: FaultCode | undefined
      readonly detail: string
    }

export interface WorkerProcessOptions {
  readonly options: WorkerOptions
  /** Folder for worker.log (structured) and worker.out (whatever else the process writes). */
  readonly logsPath: string
  readonly onEvent?: (event: string) => void
}

const program = join(packageRoot(import.meta.url), 'dist', 'infra', 'worker.js')

/**
 * Runs the pipeline's worker as a supervised child process: started again when it ends, gone when
 * this process is. Rejects with the fault that kept the first start from succeeding.
 */
export function createWorkerProcess(options: WorkerProcessOptions): Promise<Supervised> {
  const logPath = join(options.logsPath, 'worker.log')
  return supervise({
    name: 'the worker',
    start: () => startChild(join(options.logsPath, 'worker.out')),
    ready: (child) => untilReady(child, { type: 'start', options: options.options, logPath }),
    stop: (child) => {
      if (child.connected) child.send({ type: 'stop' } satisfies WorkerRequest)
      else child.kill('SIGTERM')
    },
    readyMsMax: 60_000,
    stopMsMax: 20_000,
    ...(options.onEvent && { onEvent: options.onEvent }),
  })
}

function startChild(outputPath: string): ChildProcess {
  const output = openSync(outputPath, 'a', 0o600)
  const child = fork(program, [], {
    detached: true,
    execArgv: ['--enable-source-maps'],
    stdio: ['ignore', output, output, 'ipc'],
  })
  closeSync(output)
  return child
}

function untilReady(child: ChildProcess, request: WorkerRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('message', (answer: WorkerAnswer) => {
      if (answer.type === 'ready') resolve()
      else if (answer.code !== undefined) reject(new Fault(answer.code, answer.detail))
      else reject(new Error(`the worker did not start: ${answer.detail}`))
    })
    child.send(request, (error) => {
      if (error) reject(error)
    })
  })
}
