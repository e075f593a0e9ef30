import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { usageHeader } from '../../../infra/demo/usage-rows.js'
import { createBegin } from '../../../pipeline/groups/begin-together.js'
import { createArrive } from '../../../pipeline/intake/arrive.js'
import { createPushes } from '../../../pipeline/intake/pushes.js'
import { createSubmission } from '../../../pipeline/intake/submit.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { letPass } from '../../../pipeline/queues/wait.js'
import { createZone } from '../../../schemas/time/zone.js'
import type { Rig } from '../../rig.js'
import { sentRows } from '../compare/sent-rows.js'
import { type PlannedFile, planFile, wholeFilesOf } from '../plan.js'
import { corrected, heldIn, noSum, plus, type RowSum, total, type Value } from '../sums.js'
import type { Remotes } from './remotes.js'

/** A file that was written and sent, with what must be found of it. */
export interface SentFile extends PlannedFile {
  readonly fileId: string
  /** Of all rows, as sent. */
  readonly read: RowSum
  /** What may be seen of its family once it is published; more than one where it is sparse. */
  readonly sights: readonly WholeSight[]
  isAcknowledged: boolean
}

/** All reads of a family as some of its files leave them. */
export interface WholeSight {
  readonly whole: RowSum
  readonly byMeter: ReadonlyMap<string, RowSum>
}

export interface Feeder {
  readonly files: readonly SentFile[]
  /** Sends the next file of the plan, by the way that the plan or the caller says; rows are pushed. */
  sendNext(way?: PlannedFile['way']): Promise<void>
  close(): Promise<void>
}

const retryMs = 200

export async function createFeeder(
  rig: Rig,
  remotes: Remotes,
  { seed, days }: { readonly seed: number; readonly days?: number },
): Promise<Feeder> {
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
        letPass(error)
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
  const pushes = await createRowPushes(rig)
  const push = async (file: PlannedFile, text: string): Promise<string> => {
    const feed = file.name.includes('Gas') ? 'Gas' : 'Electric'
    const sender = `sender of family ${file.family}`
    const taken = await pushes.push({ sender, feed, format: 'csv', text })
    if (taken.kind === 'wrong') throw new Error(taken.detail)
    return taken.fileName
  }
  return {
    files,
    sendNext: async (way) => {
      const planned = planFile(seed, files.length, days)
      const file = { ...planned, way: planned.isSparse ? planned.way : (way ?? planned.way) }
      const path = join(rig.files, file.name)
      const bytes = bytesOf(file)
      writeFileSync(path, bytes)
      const fileId = createHash('sha256').update(bytes).digest('hex')
      const sent = { fileId, ...sightsOf(seed, file), isAcknowledged: false }
      if (file.way === 'push') {
        files.push({ ...file, name: await push(file, bytes.toString()), ...sent })
        return
      }
      files.push({ ...file, ...sent })
      await send(path, file)
      if (!file.isRepeated) return
      await send(path, { ...file, way: file.way === 'submit' ? 'inbox' : 'submit' })
    },
    close: async () => {
      await pushes.close()
      await submission.close()
    },
  }
}

/** The intake of pushed rows; here it is never killed, and tries again what failed. */
async function createRowPushes(rig: Rig) {
  const { redisUrl } = rig.stack
  const ledger = createLedger(rig.store, () => new Date())
  const queues = createQueues({ redisUrl, prefix: rig.profile.database })
  const begin = createBegin({ profile: rig.profile, queues, ledger, sources: new Map() }, letPass)
  const pushes = await createPushes({
    folder: rig.home.pushed,
    companyCodeOf: () => rig.profile.companyCodes[0] ?? '',
    zone: createZone(rig.profile.timeZone),
    gatherSeconds: 1,
    freeDiskBytesMin: 0,
    naming: rig.profile,
    arrive: createArrive(ledger, begin),
    now: () => new Date(),
    onFailure: letPass,
  })
  return {
    push: pushes.push,
    close: async () => {
      await pushes.close()
      await begin.close()
      await queues.close()
    },
  }
}

function bytesOf(file: PlannedFile): Buffer {
  const lines = [...sentRows(file)].map((row) => row.line)
  const text = Buffer.from(`${[usageHeader, ...lines].join('\n')}\n`)
  return file.name.endsWith('.gz') ? gzipSync(text, { level: 1 }) : text
}

function sightsOf(seed: number, file: PlannedFile): Pick<SentFile, 'read' | 'sights'> {
  const { read, reads } = heldIn(file)
  if (!file.isSparse) return { read, sights: [sightOf(reads)] }
  const others = wholeFilesOf(seed, file).map((other) => corrected(heldIn(other).reads, reads))
  return { read, sights: [reads, ...others].map(sightOf) }
}

function sightOf(reads: ReadonlyMap<string, Value>): WholeSight {
  const byMeter = new Map<string, RowSum>()
  for (const [key, { micros }] of reads) {
    const meterId = key.split('\t')[0] ?? ''
    byMeter.set(meterId, plus(byMeter.get(meterId) ?? noSum, micros))
  }
  return { whole: total(reads.values()), byMeter }
}

/** Whether the ledger has an arrival of the path; asked again until it answers. */
async function isClaimed(rig: Rig, path: string): Promise<boolean> {
  for (;;) {
    try {
      const sql = 'SELECT arrival FROM arrival WHERE path = {path:String} LIMIT 1'
      return (await rig.store.rows({ sql, parameters: { path } })).length > 0
    } catch (error) {
      letPass(error)
      await sleep(retryMs)
    }
  }
}
