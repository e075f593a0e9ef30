import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { usageHeader } from '../../../infra/demo/usage-rows.js'
import { createSubmission } from '../../../pipeline/intake/submit.js'
import { Fault } from '../../../schemas/fault.js'
import type { Rig } from '../../rig.js'
import { sentRows } from '../compare/sent-rows.js'
import { type PlannedFile, planFile } from '../plan.js'
import { heldIn, noSum, plus, type RowSum, total } from '../sums.js'
import type { Remotes } from './remotes.js'

/** A file that was written and sent, with what must be found of it. */
export interface SentFile extends PlannedFile {
  readonly fileId: string
  /** Of all rows, as sent. */
  readonly read: RowSum
  /** Of the reads that the file leaves where it alone is loaded. */
  readonly whole: RowSum
  /** The same of each meter. */
  readonly wholeByMeter: ReadonlyMap<string, RowSum>
  isAcknowledged: boolean
}

export interface Feeder {
  readonly files: readonly SentFile[]
  /** Sends the next file of the plan, by the way that the plan or the caller says. */
  sendNext(way?: PlannedFile['way']): Promise<void>
  close(): Promise<void>
}

const retryMs = 200

export async function createFeeder(rig: Rig, remotes: Remotes, seed: number): Promise<Feeder> {
  const { store, redisUrl } = rig.stack
  const submission = await createSubmission({ store, redisUrl, profile: rig.profile })
  const files: SentFile[] = []
  /** Retries like a person would, unless the file was claimed: then the sweep owes it. */
  const hand = async (path: string) => {
    for (;;) {
      try {
        await submission.submit(path)
        return
      } catch (error) {
        if (!(error instanceof Fault && error.retry)) throw error
        if (await isClaimed(rig, path)) return
        await sleep(retryMs)
      }
    }
  }
  const send = async (path: string, file: PlannedFile) => {
    if (file.way === 'submit') return hand(path)
    if (file.way === 'sftp' || file.way === 's3') return remotes.put(file.way, path, file.name)
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
      const bytes = bytesOf(file)
      writeFileSync(path, bytes)
      const fileId = createHash('sha256').update(bytes).digest('hex')
      files.push({ ...file, fileId, ...sumsOf(file), isAcknowledged: false })
      await send(path, file)
      if (!file.isRepeated) return
      await send(path, { ...file, way: file.way === 'submit' ? 'inbox' : 'submit' })
    },
    close: () => submission.close(),
  }
}

function bytesOf(file: PlannedFile): Buffer {
  const lines = [...sentRows(file)].map((row) => row.line)
  const text = Buffer.from(`${[usageHeader, ...lines].join('\n')}\n`)
  return file.name.endsWith('.gz') ? gzipSync(text, { level: 1 }) : text
}

function sumsOf(file: PlannedFile): Pick<SentFile, 'read' | 'whole' | 'wholeByMeter'> {
  const { read, reads } = heldIn(file)
  const wholeByMeter = new Map<string, RowSum>()
  for (const [key, { micros }] of reads) {
    const meterId = key.split('\t')[0] ?? ''
    wholeByMeter.set(meterId, plus(wholeByMeter.get(meterId) ?? noSum, micros))
  }
  return { read, whole: total(reads.values()), wholeByMeter }
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
