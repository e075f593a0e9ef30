import { randomBytes, randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { id, sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import { ownFolders } from '../../schemas/settings/source-folders.js'

/** The parts of a data folder. */
export const homeFolders = ['inbox', ...ownFolders] as const

const secretsName = 'secrets.json'
const secretsSchema = z.object({ writer: z.string(), reader: z.string(), redis: z.string() })

/** Passwords of the embedded servers, generated once per data folder. */
export type ServerPasswords = z.infer<typeof secretsSchema>

/** The data folder with the absolute paths of its parts. */
export interface Home extends Readonly<Record<(typeof homeFolders)[number], string>> {
  readonly path: string
  /** Names the folder wherever it is mounted: workers of several machines that share it are one. */
  readonly machine: string
  readonly secrets: ServerPasswords
}

/**
 * Opens a data folder and creates missing parts: folders with mode 0700, and `secrets.json` with mode
 * 0600 and random passwords. Throws `PERMISSION` or `DISK_FULL`, and `CONFIG` for an invalid
 * secrets.json or path.
 */
export function openHome(path: string): Home {
  const wanted = resolve(path)
  try {
    refusePattern(followLinks(wanted))
    makeFolder(wanted)
    const real = realpathSync(wanted)
    const paths = homeFolders.map((name) => [name, makeFolder(join(real, name))] as const)
    const named = Object.fromEntries(paths) as Record<(typeof homeFolders)[number], string>
    const machine = openMachine(join(real, 'machine'))
    return { path: real, machine, ...named, secrets: openSecrets(secretsPathOf(real)) }
  } catch (cause) {
    throw toFault(wanted, cause)
  }
}

/**
 * Throws `PERMISSION` where root would start servers on the data folder of another user, who could
 * not read their files afterwards.
 */
export function refuseForeign({ path }: Pick<Home, 'path'>): void {
  const { uid } = statSync(path)
  if (process.getuid?.() !== 0 || uid === 0) return
  const remedy = `run the command as this user, such as with sudo -u '#${uid}', or start Tieline as this user first`
  throw new Fault(
    'PERMISSION',
    `the data folder ${path} belongs to uid ${uid}, not to root; ${remedy}`,
  )
}

/** Whether a folder was opened as a data folder before. */
export function isHome(path: string): boolean {
  return existsSync(secretsPathOf(path))
}

/** The file of a data folder with the passwords of its servers. */
export function secretsPathOf(path: string): string {
  return join(path, secretsName)
}

/** A path without links, as far as it exists. */
export function followLinks(path: string): string {
  const parent = dirname(path)
  try {
    return realpathSync(path)
  } catch (error) {
    if (parent === path) throw error
    return join(followLinks(parent), basename(path))
  }
}

/** Whether a path is a folder or leads into it, also by links. */
export function liesIn(path: string, folder: string): boolean {
  return `${followLinks(path)}/`.startsWith(`${followLinks(folder)}/`)
}

/** `file()` of ClickHouse takes a path with these for a pattern and would not find the files. */
function refusePattern(path: string): void {
  const character = /[{}*?]/.exec(path)?.[0]
  if (character === undefined) return
  const detail = `the path ${path} of the data folder has the character ${character}, which ClickHouse takes for a pattern`
  throw new Fault('CONFIG', `${detail}; rename the folder, or set --home (for a check TMPDIR)`)
}

/** Creates parents one by one: Node's recursive mkdir never returns in places such as /proc. */
function makeFolder(path: string): string {
  if (existsSync(path)) return path
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    const detail = `${path} is a link to ${readlinkSync(path)}, which does not exist`
    throw new Fault('CONFIG', `${detail}; create it, or set --home to another folder`)
  }
  makeFolder(dirname(path))
  mkdirSync(path, { mode: 0o700 })
  return path
}

/** The first of several processes that open a new folder at once gives it its id. */
function openMachine(path: string): string {
  if (!existsSync(path)) {
    const unfinished = `${path}.${process.pid}.part`
    writeFileSync(unfinished, `${randomUUID()}\n`, { mode: 0o600 })
    try {
      linkSync(unfinished, path)
    } catch (error) {
      // Some shared file systems have no links; there two first starts at once are two machines.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') renameSync(unfinished, path)
    }
    rmSync(unfinished, { force: true })
  }
  return readFileSync(path, 'utf8').trim()
}

function openSecrets(path: string): ServerPasswords {
  if (!existsSync(path)) {
    const random = () => randomBytes(24).toString('hex')
    const secrets = { writer: random(), reader: random(), redis: random() }
    const unfinished = `${path}.${process.pid}.part`
    writeFileSync(unfinished, `${JSON.stringify(secrets, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(unfinished, path)
    return secrets
  }
  chmodSync(path, 0o600)
  const text = readFileSync(path, 'utf8')
  try {
    return secretsSchema.parse(JSON.parse(text))
  } catch {
    const detail = `${path} does not contain the passwords writer, reader and redis`
    throw new Fault('CONFIG', `${detail}; remove it to generate new ones`)
  }
}

/** The file of a data folder that says where the folder was when Tieline last ran on it. */
export const placeFile = 'home.path'

export function lastPlaceOf(path: string): string | undefined {
  const file = join(path, placeFile)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/**
 * Lets the ledger of a data folder that was moved or restored name its files where they are now. Their old
 * place may be gone, or it is that of another Tieline, whose files are not touched.
 */
export async function followMove(store: Store, { path }: Pick<Home, 'path'>): Promise<void> {
  const last = lastPlaceOf(path)
  if (last === path) return
  if (last !== undefined) {
    for (const table of ['arrival', 'file_state']) {
      await store.command({
        sql: sql`ALTER TABLE ${id(table)} UPDATE path = concat(${path}, substringUTF8(path, ${[...last].length + 1}))
          WHERE startsWith(path, ${`${last}/`})`,
        settings: { mutations_sync: 1 },
      })
    }
  }
  const unfinished = join(path, `${placeFile}.part`)
  writeFileSync(unfinished, `${path}\n`, { mode: 0o600, flush: true })
  renameSync(unfinished, join(path, placeFile))
}

function toFault(path: string, cause: unknown): unknown {
  if (cause instanceof Fault) return cause
  if (!(cause instanceof Error) || !('code' in cause)) return cause
  const { code, message } = cause
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new Fault(
      'DISK_FULL',
      `no space left for the data folder ${path}; free some, or set --home to another disk`,
      { cause },
    )
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    const remedy = 'give this user access to it, or set --home to another folder'
    return new Fault('PERMISSION', `cannot write to the data folder: ${message}; ${remedy}`, {
      cause,
    })
  }
  const detail = `cannot use ${path} as the data folder: ${message}; set --home to another folder`
  return new Fault('CONFIG', detail, { cause })
}
