import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { type Profile, parseProfile } from '../../schemas/settings/profile.js'
import { packageRoot } from '../package-root.js'
import { parseYaml } from '../yaml.js'

const profileBytesMax = 1024 * 1024

/** The commented example, which is the profile of the demo utility. */
export const demoProfilePath = join(packageRoot(import.meta.url), 'infra/profiles/demo.yaml')

/**
 * The profile that a command works by: the one that is named, else the one that the data folder was
 * last started with, else the demo's. Throws `PROFILE` where the second has gone.
 */
export function profilePathOf(named: string | undefined, homePath: string): string {
  if (named !== undefined) return named
  const remembered = rememberedProfile(homePath)
  if (remembered === undefined || existsSync(remembered)) return remembered ?? demoProfilePath
  throw new Fault(
    'PROFILE',
    `${remembered} is not there, with which ${homePath} was last started; put it back, or name the profile with --profile`,
  )
}

/** Writes down what a data folder was started with, so that later commands need not be told. */
export function rememberProfile(homePath: string, profilePath: string): void {
  writeFileSync(join(homePath, nameFile), `${resolve(profilePath)}\n`, { mode: 0o600 })
}

const nameFile = 'profile.path'

function rememberedProfile(homePath: string): string | undefined {
  const path = join(homePath, nameFile)
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined
}

/**
 * The profile that a command is to start servers by. Throws `CONFIG` where the data folder belongs
 * to another utility's: its files would be judged by the wrong rules.
 */
export function readOwnProfile(named: string | undefined, homePath: string): Profile {
  const profile = readProfile(profilePathOf(named, homePath))
  const remembered = rememberedProfile(homePath)
  if (named === undefined || remembered === undefined || !existsSync(remembered)) return profile
  const { database } = readProfile(remembered)
  if (database === profile.database) return profile
  throw new Fault(
    'CONFIG',
    `${homePath} belongs to ${remembered} (database ${database}), and ${named} says ${profile.database}; give each utility a --home of its own`,
  )
}

/**
 * Reads a utility's YAML file. Throws `PROFILE` with the path, and with every problem at once, each
 * with its place.
 */
export function readProfile(path: string): Profile {
  const text = readText(path)
  try {
    return parseProfile(parseYaml(text))
  } catch (cause) {
    if (cause instanceof Fault) {
      throw new Fault('PROFILE', `${path} is not valid:\n${cause.detail}`, { cause })
    }
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    throw new Fault('PROFILE', `${path} is not YAML: ${reason}`, { cause })
  }
}

function readText(path: string): string {
  try {
    const { size } = statSync(path)
    if (size > profileBytesMax) throw new Fault('PROFILE', `${path} is larger than 1 MB`)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const { code = String(cause) } = cause as NodeJS.ErrnoException
    const what = remedies[code] ?? `cannot be read (${code}); name a YAML file with --profile`
    throw new Fault('PROFILE', `${resolve(path)} ${what}`, { cause })
  }
}

/** What to do about a profile that the operating system does not give. */
const remedies: Readonly<Record<string, string>> = {
  ENOENT: `is not there; name another with --profile, or begin with a copy of ${demoProfilePath}`,
  EACCES: 'may not be read by this user; give the right to it with chmod or chown',
  EISDIR: 'is a folder; name the YAML file in it with --profile',
}

/** Settings that name certificates and keys. */
const fileSettings = /^(cert|key|ca|clientCa)Files?$/

/** A relative path of a certificate that a section names lies in the data folder. */
export function placeFiles(profile: Profile, homePath: string): Profile {
  const place = (value: unknown, name = ''): unknown => {
    if (Array.isArray(value)) return value.map((one) => place(one, name))
    if (typeof value === 'string') return fileSettings.test(name) ? resolve(homePath, value) : value
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, place(part, key)]))
  }
  const { gateway, identity, cis, ami, backfill, alerts, sources, worker } = profile
  const placed = place({ gateway, identity, cis, ami, backfill, alerts, sources, worker })
  return { ...profile, ...(placed as Partial<Profile>) }
}
