import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import { openHome } from '../../../infra/stack/home.js'
import { createWorker, type WorkerOptions } from '../../../pipeline/worker.js'
import { createFolder } from '../../rig/folder.js'

/** A worker of this process that logs nothing, by default in a folder of its own and without secrets. */
export function startWorker(
  t: Test,
  options: Pick<WorkerOptions, 'profile' | 'store' | 'redisUrl'> & Partial<WorkerOptions>,
) {
  const { machine, ...folders } = openHome(join(createFolder(t), 'home'))
  const log = pino({ level: 'silent' })
  return createWorker({ folders, machine, secret: () => '', log, ...options })
}
