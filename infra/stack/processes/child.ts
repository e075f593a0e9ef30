import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { Fault, type FaultCode } from '../../../schemas/fault.js'
import { packageRoot } from '../../package-root.js'
import { type Supervised, type SupervisedOptions, supervise } from './supervise.js'

/** Message from parent to child. It may contain passwords, so it is sent over their pipe only. */
export type ChildRequest<O> =
  | {
      readonly type: 'start'
      readonly options: O
      readonly logPath: string
      readonly stopMsMax: number
    }
  | { readonly type: 'stop' }

/** Message from child to parent; `detail` of a ready child is its state. */
export type ChildAnswer =
  | { readonly type: 'ready'; readonly detail: unknown }
  | { readonly type: 'message'; readonly text: string }
  | {
      readonly type: 'failed'
      readonly code: FaultCode | undefined
      readonly detail: string
    }

export interface ChildOptions<O> {
  /** Name of its program, of its logs, and in messages. */
  readonly name: string
  /** Name of its program if several children share one. */
  readonly program?: string
  readonly options: O
  /** Folder for <name>.log (structured) and <name>.out (other output of the process). */
  readonly logsPath: string
  /** Environment variables that native code reads when the process starts. */
  readonly environment?: Readonly<Record<string, string>>
  /** Options for Node itself. */
  readonly nodeOptions?: readonly string[]
  /** Time to complete what has begun, whoever asks it to end. */
  readonly stopMsMax: number
  readonly onEvent?: (event: string) => void
  readonly onRestart?: SupervisedOptions['onRestart']
  /** Called with messages of the child for the user. */
  readonly onMessage?: (text: string) => void
}

export interface Child<D> extends Supervised {
  /** The state that the child reported when it was last ready. */
  detail(): D
}

/**
 * Runs one of our programs as a supervised child process: it is restarted when it ends, and ends with
 * this process. Rejects with the fault of the first start.
 */
export async function createChild<O, D>(options: ChildOptions<O>): Promise<Child<D>> {
  const logPath = join(options.logsPath, `${options.name}.log`)
  let detail: D | undefined
  const supervised = await supervise({
    name: `the ${options.name}`,
    start: () => startChild(options),
    ready: async (child) => {
      const { options: own, stopMsMax } = options
      const request: ChildRequest<O> = { type: 'start', options: own, logPath, stopMsMax }
      detail = (await untilReady(child, request, options)) as D
    },
    stop: (child) => {
      if (child.connected) child.send({ type: 'stop' } satisfies ChildRequest<O>)
      else child.kill('SIGTERM')
    },
    readyMsMax: 60_000,
    logPath: `${logPath} and ${options.name}.out`,
    stopMsMax: options.stopMsMax,
    ...(options.onEvent && { onEvent: options.onEvent }),
    onRestart: options.onRestart,
  })
  return { ...supervised, detail: () => detail as D }
}

/** Started through `env` if variables have to be set before the process starts. */
function startChild<O>(options: ChildOptions<O>): ChildProcess {
  const { name, logsPath, environment } = options
  const folder = join(packageRoot(import.meta.url), 'dist', 'infra', 'stack', 'processes')
  const program = join(folder, `${options.program ?? name}.js`)
  const output = openSync(join(logsPath, `${name}.out`), 'a', 0o600)
  const variables = Object.entries(environment ?? {}).map(([key, value]) => `${key}=${value}`)
  const child = fork(program, [], {
    detached: true,
    ...(variables.length > 0 && { execPath: 'env' }),
    execArgv: [
      ...(variables.length > 0 ? [...variables, process.execPath] : []),
      '--enable-source-maps',
      ...(options.nodeOptions ?? []),
    ],
    stdio: ['ignore', output, output, 'ipc'],
  })
  closeSync(output)
  return child
}

/** Resolves with the state of the ready child; later messages are passed on until it ends. */
function untilReady<O>(
  child: ChildProcess,
  request: ChildRequest<O>,
  { name, onMessage }: Pick<ChildOptions<O>, 'name' | 'onMessage'>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.on('message', (answer: ChildAnswer) => {
      if (answer.type === 'message') onMessage?.(answer.text)
      else if (answer.type === 'ready') resolve(answer.detail)
      else if (answer.code !== undefined) reject(new Fault(answer.code, answer.detail))
      else reject(new Error(`the ${name} did not start: ${answer.detail}`))
    })
    child.send(request, (error) => {
      if (error) reject(error)
    })
  })
}
