import { appendFileSync } from 'node:fs'
import files, { type FileHandle, open } from 'node:fs/promises'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { basename, dirname } from 'node:path'

/**
 * Preloaded by a process: it records each call by which the process changes a folder, and each question
 * to a server over HTTP between them, and kills the process at one of them.
 */
export interface DiskDeath {
  readonly folder: string
  /** Gets a line for each call. */
  readonly tracePath: string
  /** The number of the call, from 1 on; none if it is 0. */
  readonly at: number
  readonly isCarriedOut: boolean
}

const death = JSON.parse(process.env['TIELINE_DISK_DEATH'] ?? '{}') as DiskDeath
let calls = 0

/** The names are those in the folder, without random parts. */
function nameOf(path: string): string {
  return path === death.folder
    ? '.'
    : basename(path)
        .replace(/^([0-9a-f]{64}-)?[0-9a-f]{16}-/, '')
        .replace(/\.[0-9a-f-]{8,36}\./, '.*.')
}

function isThere(path: unknown): path is string {
  return typeof path === 'string' && (path === death.folder || dirname(path) === death.folder)
}

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

async function call<T>(text: string, run: () => Promise<T>): Promise<T> {
  calls++
  const isLast = calls === death.at
  if (isLast && !death.isCarriedOut) die()
  const result = await run()
  appendFileSync(death.tracePath, `${text}\n`)
  if (isLast) die()
  return result
}

const paths = new WeakMap<FileHandle, string>()
const handles = Object.getPrototypeOf(await open('/dev/null')) as Record<string, unknown>
for (const name of ['write', 'truncate', 'sync', 'datasync']) {
  const original = handles[name] as (this: FileHandle, ...of: unknown[]) => Promise<unknown>
  handles[name] = function (this: FileHandle, ...of: unknown[]) {
    const path = paths.get(this)
    const run = () => original.apply(this, of)
    return path === undefined ? run() : call(`${name} ${nameOf(path)}`, run)
  }
}

type Operation = (path: unknown, ...of: unknown[]) => Promise<unknown>
const operations = files as unknown as Record<'open' | 'rename' | 'rm', Operation>
const { open: openFile, rename, rm } = operations
operations.open = async (path, flags = 'r', ...of) => {
  if (!isThere(path)) return openFile(path, flags, ...of)
  const run = () => openFile(path, flags, ...of) as Promise<FileHandle>
  const handle = flags === 'r' ? await run() : await call(`open ${nameOf(path)}`, run)
  paths.set(handle, path)
  return handle
}
operations.rename = (path, ...of) => {
  const run = () => rename(path, ...of)
  return isThere(path) ? call(`rename ${nameOf(path)} ${nameOf(String(of[0]))}`, run) : run()
}
operations.rm = (path, ...of) => {
  const run = () => rm(path, ...of)
  return isThere(path) ? call(`rm ${nameOf(path)}`, run) : run()
}
syncBuiltinESMExports()

const request = http.request as (...of: unknown[]) => http.ClientRequest
Object.assign(http, {
  request: (...of: unknown[]) => {
    if (calls === 0) return request(...of)
    const number = ++calls
    if (number === death.at && !death.isCarriedOut) die()
    appendFileSync(death.tracePath, 'ask\n')
    return request(...of).once('response', (response) => {
      response.once('end', () => {
        if (number === death.at) die()
      })
    })
  },
})
