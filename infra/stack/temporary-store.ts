import { randomUUID } from 'node:crypto'
import { accessSync, constants, mkdtempSync, readdirSync, realpathSync, renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { migrate } from '../schema/migrate.js'
import { createLog, type Log } from '../telemetry/log.js'
import { type Claim, claimFolder } from './claim.js'
import { type Home, openHome } from './home.js'
import { withOwnStore } from './own-store.js'

export interface TemporaryStore {
  readonly profile: Profile
  readonly store: Store
  readonly folders: Home
  readonly log: Log
}

const prefix = 'tieline-check-'

/**
 * Runs `use` with an embedded ClickHouse that has the migrations of the profile, in a temporary data
 * folder under `TMPDIR`. The folder is removed at the end, also after `ending` or when this process is
 * killed; what an interrupted machine left is removed by the next call. Throws `CONFIG` for `TMPDIR`.
 */
export async function withTemporaryStore<T>(
  { profile, ending }: { readonly profile: Profile; readonly ending: AbortSignal },
  use: (temporary: TemporaryStore) => Promise<T>,
): Promise<T> {
  const folder = temporaryFolder()
  await removeAbandoned(folder)
  const path = join(folder, `${prefix}${randomUUID()}`)
  const claim = await createClaimed(path)
  try {
    const home = openHome(path)
    const own = { database: profile.database, temporaryPath: path, ending }
    return await withOwnStore(home, own, async (store) => {
      await migrate(store, profile)
      const log = createLog(join(home.logs, 'tieline.log'), 'check')
      return use({ profile, store, folders: home, log })
    })
  } finally {
    await removeWritten(path)
    await claim.release()
  }
}

/** The real path of `TMPDIR`, or `/tmp` without it. Throws `CONFIG`. */
export function temporaryFolder(): string {
  const path = tmpdir()
  try {
    accessSync(join(path, '/'), constants.R_OK | constants.W_OK | constants.X_OK)
    return realpathSync(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const remedy = 'set TMPDIR to a folder to which this user may write'
    const detail = `the folder for temporary files ${path} cannot be used (${code}); ${remedy}`
    throw new Fault('CONFIG', detail, { cause })
  }
}

/** Creates a folder that has its name only when it is claimed, so that no other process removes it. */
async function createClaimed(path: string): Promise<Claim> {
  const unclaimed = mkdtempSync(join(dirname(path), 'tieline-'))
  const claim = await claimFolder(unclaimed)
  renameSync(unclaimed, path)
  return claim
}

/** Removes the folders that no process uses. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of readdirSync(folder).filter((one) => one.startsWith(prefix))) {
    const path = join(folder, name)
    const claim = await claimFolder(path).catch(() => undefined)
    if (claim === undefined) continue
    await removeWritten(path).catch(() => undefined)
    await claim.release()
  }
}

/** Removes a folder that an engine may still write into. */
function removeWritten(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5 })
}
