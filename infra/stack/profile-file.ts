import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { type Profile, parseProfile } from '../../schemas/settings/profile.js'
import { packageRoot } from '../package-root.js'
import { parsePlacedYaml } from '../yaml.js'

const profileBytesMax = 1024 * 1024

/** The commented example: the profile of the demo utility. */
export const demoProfilePath = join(packageRoot(import.meta.url), 'infra/profiles/demo.yaml')

/**
 * The profile of a command: the given one, otherwise the last profile of the data folder, otherwise
 * the demo profile. Throws `PROFILE` if the last profile no longer exists.
 */
export function profilePathOf(named: string | undefined, homePath: string): string {
  if (named !== undefined) return named
  const remembered = rememberedProfile(homePath)
  if (remembered === undefined || existsSync(remembered)) return remembered ?? demoProfilePath
  throw new Fault(
    'PROFILE',
    `${remembered}, the last profile of ${homePath}, does not exist; restore it, or set --profile`,
  )
}

/** A descriptor of this process, such as /dev/stdin, may lead to a file; for the next one it does not. */
const ownDescriptor = /^\/(dev\/(fd|std)|proc\/)/

/**
 * Remembers the profile of a data folder, so that later commands need no --profile. What the next
 * command could not read again is not remembered.
 */
export function rememberProfile(homePath: string, profilePath: string): void {
  const found = statSync(profilePath, { throwIfNoEntry: false })
  if (!found?.isFile() || ownDescriptor.test(resolve(profilePath))) return
  writeFileSync(join(homePath, nameFile), `${resolve(profilePath)}\n`, { mode: 0o600 })
}

const nameFile = 'profile.path'

function rememberedProfile(homePath: string): string | undefined {
  const path = join(homePath, nameFile)
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined
}

/**
 * The profile to start servers with. Throws `CONFIG` if the data folder belongs to another utility,
 * because its files would be checked by the wrong rules.
 */
export function readOwnProfile(named: string | undefined, homePath: string): Profile {
  const profile = readProfile(profilePathOf(named, homePath))
  const remembered = rememberedProfile(homePath)
  if (named === undefined || remembered === undefined || !existsSync(remembered)) return profile
  const { database } = readProfile(remembered)
  if (database === profile.database) return profile
  throw new Fault(
    'CONFIG',
    `${homePath} belongs to ${remembered} (database ${database}), but ${named} has database ${profile.database}; use a separate --home for each utility`,
  )
}

/**
 * Reads the YAML file of a utility. Throws `PROFILE` with the path and with all problems and their
 * positions.
 */
export function readProfile(path: string): Profile {
  const text = readText(path)
  try {
    const { value, placeOf } = parsePlacedYaml(text)
    return parseProfile(value, placeOf)
  } catch (cause) {
    if (cause instanceof Fault) {
      throw new Fault('PROFILE', `${path} is not valid:\n${cause.detail}`, { cause })
    }
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    throw new Fault('PROFILE', `${path} is not valid YAML: ${reason}`, { cause })
  }
}

function readText(path: string): string {
  try {
    const { size } = statSync(path)
    if (size > profileBytesMax)
      throw new Fault('PROFILE', `${path} is larger than 1 MB; set --profile to a profile`)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const { code = String(cause) } = cause as NodeJS.ErrnoException
    const what = remedies[code] ?? `cannot be read (${code}); set --profile to a YAML file`
    throw new Fault('PROFILE', `${resolve(path)} ${what}`, { cause })
  }
}

/** What is wrong with an unreadable profile, and the remedy. */
const remedies: Readonly<Record<string, string>> = {
  ENOENT: `does not exist; set --profile, or start with a copy of ${demoProfilePath}`,
  EACCES: 'is not readable by this user; change it with chmod or chown',
  EISDIR: 'is a folder; set --profile to a YAML file',
}

/** Settings with paths of certificates, keys, secrets and the Unix socket. */
const fileSettings = /^((cert|key|ca|clientCa|crl)Files?|file|socket)$/

/** Resolves relative paths of certificates, secrets and the Unix socket against the data folder. */
export function placeFiles(profile: Profile, homePath: string): Profile {
  const place = (value: unknown, name = ''): unknown => {
    if (Array.isArray(value)) return value.map((one) => place(one, name))
    if (typeof value === 'string') return fileSettings.test(name) ? resolve(homePath, value) : value
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, place(part, key)]))
  }
  const { gateway, identity, cis, ami, backfill, alerts, reads, sources, worker } = profile
  const placed = place({ gateway, identity, cis, ami, backfill, alerts, reads, sources, worker })
  return { ...profile, ...(placed as Partial<Profile>) }
}
