import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { eraseDue } from './erase.js'
import type { Line } from './line.js'
import { arrivalsFolder } from './outbox.js'
import { attempt } from './sources/folder.js'
import { dropStaging, stagedArrivals } from './stores/staging.js'

const dayMs = 86_400_000

/**
 * Removes what was kept for as long as the profile says: by `retention` (decision 32), and accounts
 * that were terminated (decision 30).
 */
export async function retain(line: Line): Promise<void> {
  const { archiveDays, rejectsDays } = line.profile.retention
  const { archive, quarantine, outbox } = line.folders
  await removeOlder(line, archive, { days: archiveDays })
  await removeOlder(line, quarantine, { days: archiveDays })
  for (const folder of [outbox, join(outbox, arrivalsFolder)]) {
    await removeOlder(line, folder, { days: rejectsDays, ending: '.rejects.csv' })
  }
  await forgetRejects(line)
  await dropDeadStaging(line)
  await eraseDue(line)
}

interface Old {
  readonly days: number
  readonly ending?: string
}

/** Files by the time at which they were put away or written. */
async function removeOlder(line: Line, folder: string, { days, ending = '' }: Old): Promise<void> {
  const before = line.now().getTime() - days * dayMs
  await attempt(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  for (const name of await attempt(folder, () => readdir(folder))) {
    if (!name.endsWith(ending)) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile() && found.ctimeMs < before)
      await attempt(path, () => rm(path, { force: true }))
  }
}

async function forgetRejects({ store, profile, now }: Line): Promise<void> {
  const before = new Date(now().getTime() - profile.retention.rejectsDays * dayMs)
  const old = `arrival IN (SELECT arrival FROM file_state FINAL
    WHERE settled_at < {before:DateTime64(3)}) AND arrival IN (SELECT arrival FROM reject)`
  const parameters = { before: before.toISOString().replace('T', ' ').replace('Z', '') }
  const found = await store.rows({ sql: `SELECT 1 FROM reject WHERE ${old} LIMIT 1`, parameters })
  if (found.length === 0) return
  await store.command({ sql: `DELETE FROM reject WHERE ${old}`, parameters })
}

/** Staging of arrivals that have not ended for long: it is built anew should they go on. */
async function dropDeadStaging({ store, ledger, profile, now }: Line): Promise<void> {
  const before = now().getTime() - profile.retention.stagingDays * dayMs
  for (const arrival of await stagedArrivals(store)) {
    const found = await ledger.arrival(arrival)
    const state = await ledger.state(arrival)
    if (state?.status === 'publishing' || state?.status === 'received') continue
    if (found === undefined || found.arrivedAt.getTime() < before) await dropStaging(store, arrival)
  }
}
