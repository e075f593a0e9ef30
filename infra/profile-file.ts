import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { Fault } from '../schemas/fault.js'
import { type Profile, parseProfile } from '../schemas/profile.js'
import { packageRoot } from './package-root.js'

const profileBytesMax = 1024 * 1024

/** The commented example, which is the profile of the demo utility. */
export const demoProfilePath = join(packageRoot(import.meta.url), 'infra/profiles/demo.yaml')

/** Reads a utility's YAML file. Throws `PROFILE` with every problem at once, each with its path. */
export function readProfile(path: string): Profile {
  let value: unknown
  try {
    const text = readFileSync(path, 'utf8')
    if (text.length > profileBytesMax) throw new Error('it is larger than 1 MB')
    value = parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    throw new Fault('PROFILE', `${path} cannot be read: ${reason}`, { cause })
  }
  return parseProfile(value)
}
