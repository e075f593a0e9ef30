import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../schemas/fault.js'
import type { Rig } from '../rig.js'

/** A step, as the ledger shows it: the files, or registered meters, that are in it now. */
const ledgerSteps = {
  receiving:
    'SELECT count() AS files FROM arrival WHERE arrival NOT IN (SELECT arrival FROM file_state)',
  'waiting for its loads': `SELECT count() AS files FROM file_state FINAL
    WHERE status = 'received' AND arrival NOT IN (SELECT arrival FROM chunk_receipt)`,
  loading: `SELECT count() AS files FROM file_state FINAL
    WHERE status = 'received' AND arrival IN (SELECT arrival FROM chunk_receipt)`,
  'between verdict and publish': `SELECT count() AS files FROM file_state FINAL
    WHERE status = 'publishing'`,
  'attached, not yet published': `SELECT count() AS files FROM usage_read
    WHERE bitShiftRight(version, 32) IN
      (SELECT toUInt64(arrival) FROM file_state FINAL WHERE status = 'publishing' AND arrival NOT IN (SELECT arrival FROM publication))`,
  'between publish and settle': `SELECT count() AS files FROM file_state FINAL
    WHERE status = 'published' AND settled_at IS NULL`,
  'registered, without tenancy': `SELECT uniqExact(meter_id) AS files FROM registration_fact
    WHERE meter_id NOT IN (SELECT meter_id FROM tenancy)`,
} as const

/** Steps that leave their first trace in a folder. */
const folderSteps = {
  'landing its chunks': 'landing',
  'receipt handed out': 'outbox',
  'putting the file away': 'archive',
} as const

export type Step = keyof typeof ledgerSteps | keyof typeof folderSteps
export const steps = [
  ...(Object.keys(ledgerSteps) as (keyof typeof ledgerSteps)[]),
  ...(Object.keys(folderSteps) as (keyof typeof folderSteps)[]),
] as const

const lookMs = 5

/** Waits until some file is in the step; false when none was in `msMax`. */
export async function reached(
  rig: Rig,
  step: Step,
  options: { readonly msMax: number },
): Promise<boolean> {
  const until = performance.now() + options.msMax
  const isThere = step in folderSteps ? folderGrows(rig, step) : () => isIn(rig, step)
  while (performance.now() < until) {
    if (await isThere()) return true
    await sleep(lookMs)
  }
  return false
}

/** Whether some file is in the step as the ledger has it; false while the store is away. */
export async function isIn(rig: Rig, step: Step): Promise<boolean> {
  const sql = (ledgerSteps as Readonly<Record<string, string>>)[step]
  if (sql === undefined) return false
  try {
    const [found] = await rig.store.rows<{ files: string }>({ sql })
    return Number(found?.files ?? 0) > 0
  } catch (error) {
    if (error instanceof Fault && error.retry) return false
    throw error
  }
}

function folderGrows(rig: Rig, step: Step): () => Promise<boolean> {
  const folder = rig.home[folderSteps[step as keyof typeof folderSteps]]
  const list = () => readdirSync(folder).filter((name) => !name.endsWith('.part'))
  const before = new Set(list())
  return async () => list().some((name) => !before.has(name))
}
