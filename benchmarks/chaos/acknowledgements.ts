import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { receiptSchema } from '../../schemas/receipt.js'
import type { Rig } from '../rig.js'
import type { SentFile } from './actors/feeder.js'
import { type Arrived, arrivalsOf } from './compare/compare.js'
import { describeSights, judge, look } from './sight.js'

export interface Acknowledgements {
  /** Acknowledged files whose rows were not in the store, in words. */
  readonly missing: readonly string[]
  close(): Promise<void>
}

const restMs = 50

/**
 * Watches outbox and archive. From the moment that a receipt or an archived file says that a file
 * is done, its rows must be in the store, whatever is killed; a store that is away is waited for.
 */
export function createAcknowledgements(rig: Rig, files: readonly SentFile[]): Acknowledgements {
  const missing: string[] = []
  let isOpen = true
  const prove = async (file: SentFile) => {
    for (;;) {
      const sights = await look(rig.store, file)
      const arrivals = await arrivalsOf(rig).catch(() => undefined)
      if (sights === undefined || arrivals === undefined) {
        await sleep(restMs)
        continue
      }
      const family = files.filter((one) => one.family === file.family)
      const judged = judge(sights, family, notBefore(file, family, arrivals))
      if (judged === 'nothing' || judged === 'partly') {
        missing.push(describeSights(sights, family))
      }
      return
    }
  }
  const watch = async () => {
    while (isOpen) {
      await sleep(restMs)
      for (const file of files) {
        if (file.isAcknowledged || !isAcknowledged(rig, file)) continue
        await prove(file)
        file.isAcknowledged = true
      }
    }
  }
  const watching = watch()
  watching.catch(() => undefined)
  return {
    missing,
    close: async () => {
      isOpen = false
      await watching
    },
  }
}

/** A file, and those of its family that came later: only they may have taken its place. */
function notBefore(
  file: SentFile,
  family: readonly SentFile[],
  arrivals: readonly Arrived[],
): readonly SentFile[] {
  const numberOf = ({ name }: SentFile) =>
    arrivals.findLast((one) => one.file_name === name && one.status === 'published')?.arrival
  const own = numberOf(file) ?? 0
  return family.filter((one) => one === file || (numberOf(one) ?? Infinity) > own)
}

function isAcknowledged(rig: Rig, file: SentFile): boolean {
  const receipt = `${file.name}.receipt.json`
  if (readdirSync(rig.home.archive).some((name) => name.endsWith(`-${file.name}`))) return true
  if (!readdirSync(rig.home.outbox).includes(receipt)) return false
  const text = readFileSync(join(rig.home.outbox, receipt), 'utf8')
  const { status, reason } = receiptSchema.parse(JSON.parse(text))
  if (status === 'published' || status === 'duplicate') return true
  throw new Error(`${file.name} is ${status}: ${reason}`)
}
