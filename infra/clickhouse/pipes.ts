import { execFile } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Fault } from '../../schemas/fault.js'

/** A named pipe in use: the engine writes to `path`, and `readable` yields the bytes. */
export interface OpenPipe {
  readonly path: string
  readonly readable: Socket
  /** Call this when the engine has finished; `readable` then ends. */
  finish(): void
}

export interface Pipes {
  /** Opens an unused pipe. */
  open(): OpenPipe
  close(pipe: OpenPipe): void
}

/**
 * Creates named pipes that stream results of every format with back-pressure, one for each concurrent
 * query. Throws `MISSING_PROGRAM` if mkfifo is missing.
 */
export async function createPipes(folder: string, count: number): Promise<Pipes> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const free = Array.from({ length: count }, (_, index) => join(folder, `p${index}`))
  await promisify(execFile)('mkfifo', ['-m', '600', ...free]).catch((cause: unknown) => {
    throw new Fault('MISSING_PROGRAM', `cannot run mkfifo (${String(cause)}); install coreutils`)
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

/** Opens both ends without blocking: the held writer prevents an early end of the reader. */
function openPipe(path: string): OpenPipe {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  let writer: number | undefined = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  const finish = (): void => {
    if (writer !== undefined) closeSync(writer)
    writer = undefined
  }
  return { path, readable: new Socket({ fd: reader, readable: true, writable: false }), finish }
}
