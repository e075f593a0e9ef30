import { join, resolve } from 'node:path'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import { verify } from '../../pipeline/verify/verify.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { copyBack, copyParts, fillNew, partsOf, secretsFile } from '../backup/copy.js'
import { type EndedClients, readEnded, replayEnded } from '../backup/ended.js'
import { type Replaying, readTombstones, replayErasures } from '../backup/erasures.js'
import { describePublished, type PublishedFile, readPublished } from '../backup/published.js'
import { migrate } from '../schema/migrate.js'
import { type Home, isHome, lastPlaceOf, liesIn, openHome } from '../stack/home.js'
import { withOwnStore } from '../stack/own-store.js'
import { readOwnProfile } from '../stack/profile-file.js'
import { claimHome, readRun } from '../stack/run-state.js'
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
  const parts = partsOf(from.path, readOwnProfile(context.profilePath, from.path))
  refuseWithin(from, { parts, folder: resolve(folder) })
  const copying = { from: from.path, to: resolve(folder), ending: context.ending }
  const { files, others, takenAt } = await whileClaimed(from, () =>
    copyParts(copying, [...parts, ...(secrets ? [secretsFile] : [])]),
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
 * are erased, and clients who left or whose accounts were closed are ended, before the folder gets its
 * name; the old data folder says which, and which files were published since. Then the store is verified: the exit code is 1 if something is missing.
 */
export async function restoreCommand(
  context: Context,
  folder: string,
  { erasuresOf }: { readonly erasuresOf?: string },
): Promise<number> {
  refuseServer(context)
  const path = resolve(context.homePath)
  if (liesIn(path, resolve(folder))) {
    throw new Fault('CONFIG', `${path} lies in the backup ${resolve(folder)}; name another --home`)
  }
  const old = erasuresOf === undefined ? undefined : openExisting(erasuresOf)
  const restored = await fillNew(path, (part) => restoreInto(context, part, { folder, old }))
  const { takenAt, found, replayed, ended, numbered, source, files } = restored
  context.print(`✓ backup of ${takenAt} is restored in ${path}, ${grouped(found.rows)} rows`)
  context.print(
    old === undefined
      ? '! accounts that were erased or closed since the backup, and clients who left, may be in it again; restore with --erasures-of DIR where the old data folder exists'
      : `✓ ${replayed} erasures since the backup are replayed\n✓ ${ended.left} clients who left since the backup are unregistered\n✓ tenancies of ${ended.closed} clients whose accounts were closed since the backup are ended`,
  )
  context.print(
    `! published_seq of the backup ends at ${numbered}; who has pulled beyond it must pull everything after ${numbered} again`,
  )
  const missing =
    old === undefined
      ? [
          '! files that were published since the backup are not in it; load them from the archive of the old data folder in the order of their numbers, terminations too',
        ]
      : describePublished(old.archive, files)
  for (const line of missing) context.print(printable(line))
  if (source !== undefined && readRun({ path: source })) {
    context.print(
      `! Tieline is running on ${source}; both would take the same files from the sources, so stop it before you start this one`,
    )
  }
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
  const { ending } = context
  const { takenAt } = await copyBack({ from: resolve(folder), to: part, ending })
  const home = openHome(part)
  const profile = readOwnProfile(context.profilePath, part)
  const since = old === undefined ? undefined : await endedIn(context, old, { profile, takenAt })
  const log = createLog(join(home.logs, 'tieline.log'), 'restore')
  return withOwnStore(home, { database: profile.database, ending }, async (store) => {
    await migrate(store, profile, { isEmbedded: true })
    const numbered = await latestPublication(store)
    const { replayed, ended } = await replay({ store, home, profile, log }, since)
    const now = () => new Date()
    const { machine } = home
    const found = await verify({ store, folders: home, machine, profile, now }, { files: true })
    const files = since?.files ?? []
    return { takenAt, found, replayed, ended, numbered, files, source: lastPlaceOf(part) }
  })
}

/** Throws `CONFIG` if an erasure cannot be finished here. */
async function replay(replaying: Replaying, since: EndedSince | undefined) {
  if (since === undefined) return { replayed: 0, ended: { left: 0, closed: 0 } }
  const ended = await replayEnded(replaying, since.clients)
  const { replayed, open } = await replayErasures(replaying, since.tombstones)
  if (open === 0) return { replayed, ended }
  const detail = `${open} erasures wait for files that were in progress when the backup was taken`
  throw new Fault('CONFIG', `${detail}; use a backup that was taken between two files`)
}

/** Before erasures are replayed, which are publications too. */
async function latestPublication(store: Store): Promise<string> {
  const [row] = await store.rows<{ seq: string }>({
    sql: sql`SELECT toString(max(published_seq)) AS seq FROM publication`,
  })
  return row?.seq ?? '0'
}

/** Erasures, ended clients and published files in a data folder of the same utility. */
async function endedIn(
  { profilePath, ending }: Context,
  old: Home,
  { profile: { database }, takenAt }: { readonly profile: Profile; readonly takenAt: string },
): Promise<EndedSince> {
  const own = readOwnProfile(profilePath, old.path)
  if (own.database !== database) {
    const detail = `${old.path} has the database ${own.database}, the backup ${database}`
    throw new Fault('CONFIG', `${detail}; set --erasures-of to a data folder of the same utility`)
  }
  const read = async (store: Store) => ({
    tombstones: await readTombstones(store),
    clients: await readEnded(store),
    files: await readPublished(store, takenAt),
  })
  return whileClaimed(old, () => withOwnStore(old, { database, ending }, read))
}

interface EndedSince {
  readonly tombstones: Awaited<ReturnType<typeof readTombstones>>
  readonly clients: EndedClients
  readonly files: readonly PublishedFile[]
}

/** A data folder without the store would be half a backup, and a restored one would not be used. */
function refuseServer({ external }: Context): void {
  if (external.clickhouseUrl === undefined) return
  throw new Fault(
    'CONFIG',
    'backup and restore copy a data folder with embedded servers, but CLICKHOUSE_URL is set; use BACKUP and RESTORE of ClickHouse, see infra/deploy/backup.md',
  )
}

/** The next backup would have this one in it. */
function refuseWithin(
  { path }: Home,
  { parts, folder }: { readonly parts: readonly string[]; readonly folder: string },
): void {
  const part = parts.find((one) => liesIn(folder, join(path, one)))
  if (part === undefined) return
  const detail = `${folder} lies in ${join(path, part)}, which is backed up`
  throw new Fault('CONFIG', `${detail}; name a folder outside of the data folder`)
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
