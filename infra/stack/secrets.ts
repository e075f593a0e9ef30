import { readFileSync } from 'node:fs'
import { Fault } from '../../schemas/fault.js'
import {
  type SecretReference,
  secretNameOf,
  secretReference,
} from '../../schemas/settings/secret.js'

/** Secrets by their reference in the profile, `file:<path>` or `env:<NAME>`. */
export type Secrets = Readonly<Record<string, string>>

/** Reads the secret of a reference. Throws `CONFIG` if it is not set. */
export function createSecretReader(
  environment: Readonly<Record<string, string | undefined>>,
): (reference: SecretReference) => string {
  return (reference) => {
    const name = secretNameOf(reference)
    const secret = 'env' in reference ? environment[reference.env] : readSecret(reference.file)
    if (secret !== undefined && secret !== '') return secret
    throw new Fault('CONFIG', `secret ${name}, referenced in the profile, is not set`)
  }
}

/** Reads all secrets that a part of a profile refers to. */
export function collectSecrets(
  value: unknown,
  read: (reference: SecretReference) => string,
): Secrets {
  const found: Record<string, string> = {}
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    const reference = secretReference.safeParse(part)
    if (reference.success) found[secretNameOf(reference.data)] = read(reference.data)
    else for (const inner of Object.values(part)) visit(inner)
  }
  visit(value)
  return found
}

/** Resolves references from collected secrets. */
export function secretFrom(secrets: Secrets): (reference: SecretReference) => string {
  return (reference) => {
    const secret = secrets[secretNameOf(reference)]
    if (secret !== undefined) return secret
    throw new Fault('CONFIG', `secret ${secretNameOf(reference)} was not passed to this process`)
  }
}

function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF|\r?\n$/g, '')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const remedy = 'give this user access to it, or fix its path in the profile'
    throw new Fault('CONFIG', `cannot read the secret file ${path} (${code}); ${remedy}`, { cause })
  }
}
