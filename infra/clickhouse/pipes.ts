import { execFile } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Fault } from '../../schemas/fault.js'

/** One end-to-end use of a named pipe: the engine writes to `path`, `readable` yields it. */
export interface OpenPipe {
  readonly path: string
  readonly readable: Socket
  /** To be called once the engine is through; `readable` then ends. */
  finish(): void
}

export interface Pipes {
  /** Waits for a pipe that nobody uses. */
  open(): OpenPipe
  close(pipe: OpenPipe): void
}

/**
 * Makes named pipes through which results of every format stream with back-pressure. As many must
 * exist as queries may run. Throws `MISSING_PROGRAM` where there is no mkfifo.
 */
export async function createPipes(folder: string, count: number): Promise<Pipes> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const free = Array.from({ length: count }, (_, index) => join(folder, `p${index}`))
  await promisify(execFile)('mkfifo', ['-m', '600', ...free]).catch((cause: unknown) => {
    throw new Fault('MISSING_PROGRAM', `mkfifo of coreutils cannot be run: ${String(cause)}`)
  })
  return {
    open: () => {
      const path = free.pop()
      if (path === undefined) throw new Error('more queries than pipes')
      return openPipe(path)
    },
    close: (pipe) => {
      pipe.finish()
      pipe.readable.destroy()
      free.push(pipe.path)
    },
  }
}

/** Both ends are opened without blocking: the held writer keeps the reader from an early end. */
function openPipe(path: string): OpenPipe {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  let writer: number | undefined = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  const finish = (): void => {
    if (writer !== undefined) closeSync(writer)
    writer = undefined
  }
  return { path, readable: new Socket({ fd: reader, readable: true, writable: false }), finish }
}
