import { stat } from 'node:fs/promises'
import type { Folders } from '../context.js'
import { type Actor, recordAct } from '../ledger/audit.js'
import type { FileState } from '../ledger/file-state.js'
import type { Ledger } from '../ledger/ledger.js'
import { runsElsewhere } from '../machine.js'
import type { Queues } from '../queues/bullmq.js'
import { letPass } from '../queues/wait.js'
import { attempt, ifThere } from '../sources/disk.js'
import { submitted } from '../sources/folder.js'
import { blankState } from '../steps/receive.js'
import type { Store } from '../store/clickhouse.js'
import { id, literal, sql } from '../store/sql.js'
import { hashFile, keptPath } from './archive.js'
import type { Damage } from './damage.js'
import { countedTable } from './entries.js'

export interface RepairContext {
  readonly store: Store
  readonly ledger: Ledger
  readonly queues: Pick<Queues, 'add'>
  readonly folders: Pick<Folders, 'archive' | 'quarantine'>
  /** The id of their data folder. */
  readonly machine: string
}

/** A file that brings missing rows back, or why there is none. */
export type OrderedRepair =
  | { readonly arrival: number; readonly name: string; readonly bytes: number }
  | { readonly obstacle: string }

/**
 * Lets a file come in again that brings the missing rows of an arrival back, under the versions that
 * they had: a later correction stays in force. Steps, receipts and recovery are those of any file. An
 * unfinished repair of the arrival goes on instead, unless its machine is away.
 */
export async function orderRepair(
  context: RepairContext,
  actor: Actor,
  arrival: number,
): Promise<OrderedRepair> {
  const { store, ledger, queues, machine } = context
  const [state, first] = await Promise.all([ledger.state(arrival), ledger.arrival(arrival)])
  if (state === undefined || first === undefined) {
    return { obstacle: `arrival ${arrival} is not in the ledger; restore a backup` }
  }
  const { name, bytes } = first
  const open = await openRepairs(store, arrival)
  for (const one of open) {
    const goesOn = one.machine === machine || (await runsElsewhere(context, one.machine))
    if (goesOn) return { arrival: one.arrival, name, bytes }
  }
  const path = await findBytes(context, state)
  if (path === undefined) {
    const folders = [context.folders.archive, context.folders.quarantine].join(' and ')
    const host = await hostThatRead(store, state, machine)
    const elsewhere = host === undefined ? '' : `run tieline repair on ${host}, which read it, or `
    const remedy = `${elsewhere}restore a backup`
    return { obstacle: `${folders} do not have ${name} (arrival ${arrival}); ${remedy}` }
  }
  if (open.length > 0) await giveUp(ledger, open)
  await recordAct(store, actor, { act: 'repair', subject: String(arrival), detail: name })
  const found = await attempt(path, () => stat(path))
  const { acceptRejects = false, wholeBy = '' } = first
  const entry = { source: submitted, name, path, machine, bytes: found.size, force: true }
  const kept = { acceptRejects, wholeBy, modifiedMs: Math.trunc(found.mtimeMs) }
  const claimed = await ledger.claim({ ...entry, ...kept, repairs: arrival })
  await queues.add('receive', { v: 1, arrival: claimed.arrival, machine }).catch(letPass)
  return { arrival: claimed.arrival, name, bytes: found.size }
}

interface OpenRepair {
  readonly arrival: number
  readonly machine: string
}

function openRepairs(store: Store, of: number): Promise<readonly OpenRepair[]> {
  return store.rows({
    sql: sql`SELECT arrival, machine FROM arrival WHERE repairs = ${of}
      AND arrival NOT IN (SELECT arrival FROM file_state WHERE settled_at IS NOT NULL)
      ORDER BY arrival`,
  })
}

/** Ends repairs without a verdict, because only a machine that is away has their bytes. */
async function giveUp(ledger: Ledger, open: readonly OpenRepair[]): Promise<void> {
  const now = () => new Date()
  const { arrivals, states } = await ledger.lookUp(open.map(({ arrival }) => arrival))
  const given = [...arrivals.map((one) => blankState({ now }, one)), ...states]
  const ended = { status: 'replaced', fault: 'FILE_STATE', settledAt: now() } as const
  const reason = 'the machine of this repair is away; another machine repairs the file'
  await ledger.record(...given.map((one) => ({ ...one, ...ended, reason })))
}

/** The host of the machine that read and keeps a file, unless it is this one. */
async function hostThatRead(
  store: Store,
  { manifest }: FileState,
  machine: string,
): Promise<string | undefined> {
  if (manifest.machine === undefined || manifest.machine === machine) return undefined
  const [found] = await store.rows<{ host: string }>({
    sql: sql`SELECT host FROM machine FINAL WHERE machine = ${manifest.machine}`,
  })
  return found?.host
}

/** Where the bytes of a published file still are; a submitted one stayed where it was. */
async function findBytes(
  { folders }: RepairContext,
  state: FileState,
): Promise<string | undefined> {
  const { archive, quarantine } = folders
  const kept = [archive, quarantine].map((folder) => keptPath(folder, state))
  const paths = state.source === submitted ? [...kept, state.path] : kept
  for (const path of paths) {
    const found = await attempt(path, () => ifThere(stat(path)))
    if (found?.isFile() && (await hashFile(path)) === state.fileId) return path
  }
  return undefined
}

/** Removes parts that cannot be read from tables of which every row is there again. */
export async function dropDetached(store: Store, damage: readonly Damage[]): Promise<void> {
  for (const { kind, subject } of damage) {
    const [table = '', part = ''] = subject.split('/')
    if (kind !== 'part' || countedTable(table) === undefined) continue
    await store.command({
      sql: sql`ALTER TABLE ${id(table)} DROP DETACHED PART ${literal(part)}`,
      settings: { allow_drop_detached: 1 },
    })
  }
}
