import { join, resolve } from 'node:path'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import { verify } from '../../pipeline/verify/verify.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { backedUp, copyBack, copyParts, fillNew, secretsFile } from '../backup/copy.js'
import { readTombstones, replayErasures } from '../backup/erasures.js'
import { readLeft, replayLeft } from '../backup/left.js'
import { migrate } from '../schema/migrate.js'
import { type Home, isHome, openHome } from '../stack/home.js'
import { withOwnStore } from '../stack/own-store.js'
import { readOwnProfile } from '../stack/profile-file.js'
import { claimHome } from '../stack/run-state.js'
import { createLog } from '../telemetry/log.js'
import { type Context, exitCodes } from './context.js'
import { bytesText, grouped, printable } from './output/table.js'

/**
 * Copies a data folder with embedded servers into a new folder. Throws `ALREADY_RUNNING` while Tieline
 * runs, because the ledger and the reads must be of the same moment.
 */
export async function backupCommand(
  context: Context,
  folder: string,
  { secrets }: { readonly secrets: boolean },
): Promise<number> {
  refuseServer(context)
  const from = openExisting(context.homePath)
  const { files, others, takenAt } = await whileClaimed(from, () =>
    copyParts(from.path, resolve(folder), [...backedUp, ...(secrets ? [secretsFile] : [])]),
  )
  const bytes = files.reduce((sum, [, size]) => sum + size, 0)
  const copied = `${grouped(files.length)} files, ${bytesText(bytes)}`
  context.print(`✓ ${copied} of ${takenAt} in ${resolve(folder)}`)
  const [other] = others
  if (other !== undefined) {
    const count = grouped(others.length)
    context.print(`! not copied, for they are not files: ${count}, such as ${printable(other)}`)
  }
  return exitCodes.good
}

/**
 * Copies a backup into the data folder, which must be new. Accounts that were erased since the backup
 * are erased, and clients who left are unregistered, before the folder gets its name; the old data
 * folder says which. Then the store is verified: the exit code is 1 if something is missing.
 */
export async function restoreCommand(
  context: Context,
  folder: string,
  { erasuresOf }: { readonly erasuresOf?: string },
): Promise<number> {
  refuseServer(context)
  const path = resolve(context.homePath)
  const old = erasuresOf === undefined ? undefined : openExisting(erasuresOf)
  const restored = await fillNew(path, (part) => restoreInto(context, part, { folder, old }))
  const { takenAt, found, replayed, left, numbered } = restored
  context.print(`✓ backup of ${takenAt} is restored in ${path}, ${grouped(found.rows)} rows`)
  context.print(
    old === undefined
      ? '! accounts that were erased since the backup, and clients who left, may be in it again; restore with --erasures-of DIR where the old data folder exists'
      : `✓ ${replayed} erasures since the backup are replayed\n✓ ${left} clients who left since the backup are unregistered`,
  )
  context.print(
    `! published_seq of the backup ends at ${numbered}; who has pulled beyond it must pull everything after ${numbered} again`,
  )
  for (const { detail } of found.damage) context.print(`✗ ${printable(detail)}`)
  return found.damage.length === 0 ? exitCodes.good : exitCodes.fault
}

interface Restoring {
  /** The backup. */
  readonly folder: string
  readonly old: Home | undefined
}

/** Restores into a folder that is claimed and empty; nobody reads it before its erasures are replayed. */
async function restoreInto(context: Context, part: string, { folder, old }: Restoring) {
  const { takenAt } = await copyBack(resolve(folder), part)
  const home = openHome(part)
  const profile = readOwnProfile(context.profilePath, part)
  const ended = old === undefined ? nobody : await endedIn(context, old, profile)
  const log = createLog(join(home.logs, 'tieline.log'), 'restore')
  return withOwnStore(home, profile, async (store) => {
    await migrate(store, profile, { isEmbedded: true })
    const numbered = await latestPublication(store)
    const left = await replayLeft({ store, profile }, ended.left)
    const { replayed, open } = await replayErasures({ store, home, profile, log }, ended.tombstones)
    if (open > 0) {
      const detail = `${open} erasures wait for files that were in progress when the backup was taken`
      throw new Fault('CONFIG', `${detail}; use a backup that was taken between two files`)
    }
    const now = () => new Date()
    const found = await verify({ store, folders: home, profile, now }, { files: true })
    return { takenAt, found, replayed, left, numbered }
  })
}

/** Before erasures are replayed, which are publications too. */
async function latestPublication(store: Store): Promise<string> {
  const [row] = await store.rows<{ seq: string }>({
    sql: sql`SELECT toString(max(published_seq)) AS seq FROM publication`,
  })
  return row?.seq ?? '0'
}

/** Erasures and unregistrations in a data folder of the same utility. */
async function endedIn(
  { profilePath }: Context,
  old: Home,
  { database }: Profile,
): Promise<typeof nobody> {
  const own = readOwnProfile(profilePath, old.path)
  if (own.database !== database) {
    const detail = `${old.path} has the database ${own.database}, the backup ${database}`
    throw new Fault('CONFIG', `${detail}; set --erasures-of to a data folder of the same utility`)
  }
  const read = async (store: Store) => ({
    tombstones: await readTombstones(store),
    left: await readLeft(store),
  })
  return whileClaimed(old, () => withOwnStore(old, own, read))
}

const nobody: Readonly<{
  tombstones: Awaited<ReturnType<typeof readTombstones>>
  left: readonly string[]
}> = { tombstones: [], left: [] }

/** A data folder without the store would be half a backup, and a restored one would not be used. */
function refuseServer({ external }: Context): void {
  if (external.clickhouseUrl === undefined) return
  throw new Fault(
    'CONFIG',
    'backup and restore copy a data folder with embedded servers, but CLICKHOUSE_URL is set; use BACKUP and RESTORE of ClickHouse, see infra/deploy/backup.md',
  )
}

function openExisting(path: string): Home {
  if (isHome(path)) return openHome(path)
  throw new Fault('CONFIG', `${resolve(path)} is not a data folder of Tieline; set --home`)
}

async function whileClaimed<T>(home: Home, use: () => Promise<T>): Promise<T> {
  const claim = await claimHome(home)
  try {
    return await use()
  } finally {
    await claim.release()
  }
}
