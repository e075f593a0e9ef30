import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type UsageTally, usageFile } from '../../infra/demo/usage-file.js'
import { createHandOver } from '../../pipeline/hand-over.js'
import { Fault } from '../../schemas/fault.js'
import type { Rig } from '../rig.js'
import { type PlannedFile, planFile } from './plan.js'

/** A file that was written and sent, with what must be found of it. */
export interface SentFile extends PlannedFile {
  readonly tally: UsageTally
  readonly fileId: string
  readonly rowsGood: number
  isAcknowledged: boolean
}

export interface Feeder {
  readonly files: readonly SentFile[]
  /** Sends the next file of the plan, by the way that the plan or the caller says. */
  sendNext(way?: PlannedFile['way']): Promise<void>
  close(): Promise<void>
}

const retryMs = 200

export async function createFeeder(rig: Rig, seed: number): Promise<Feeder> {
  const { store, redisUrl } = rig.stack
  const handOver = await createHandOver({ store, redisUrl, profile: rig.profile })
  const files: SentFile[] = []
  /** Retries like a person would, unless the file was claimed: then the sweep owes it. */
  const hand = async (path: string) => {
    for (;;) {
      try {
        await handOver.handOver(path)
        return
      } catch (error) {
        if (!(error instanceof Fault && error.retry)) throw error
        if (await isClaimed(rig, path)) return
        await sleep(retryMs)
      }
    }
  }
  const send = async (path: string, file: PlannedFile) => {
    if (file.way === 'hand-over') return hand(path)
    const final = join(rig.home.inbox, file.name)
    await copyFile(path, join(rig.home.inbox, `.${file.name}.part`))
    await rename(join(rig.home.inbox, `.${file.name}.part`), final)
    if (file.way === 'inbox') writeFileSync(`${final}.done`, '')
  }
  return {
    files,
    sendNext: async (way) => {
      const planned = planFile(seed, files.length)
      const file = { ...planned, way: way ?? planned.way }
      const path = join(rig.files, file.name)
      const tally = await usageFile(path, file.usage)
      const fileId = createHash('sha256').update(readFileSync(path)).digest('hex')
      const rowsGood = tally.rows - tally.rowsBad
      files.push({ ...file, tally, fileId, rowsGood, isAcknowledged: false })
      await send(path, file)
      if (!file.isRepeated) return
      await send(path, { ...file, way: file.way === 'hand-over' ? 'inbox' : 'hand-over' })
    },
    close: () => handOver.close(),
  }
}

/** Whether the ledger has an arrival of the path; asked again until it answers. */
async function isClaimed(rig: Rig, path: string): Promise<boolean> {
  for (;;) {
    try {
      const sql = 'SELECT arrival FROM arrival WHERE path = {path:String} LIMIT 1'
      return (await rig.store.rows({ sql, parameters: { path } })).length > 0
    } catch (error) {
      if (!(error instanceof Fault && error.retry)) throw error
      await sleep(retryMs)
    }
  }
}
