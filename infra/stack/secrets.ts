import { readFileSync } from 'node:fs'
import { Fault } from '../../schemas/fault.js'
import { type SecretReference, secretReference } from '../../schemas/settings/secret.js'

/** Secrets by the place that a profile names, `file:<path>` or `env:<NAME>`. */
export type Secrets = Readonly<Record<string, string>>

/** Reads what a reference points to. Throws `CONFIG` where there is nothing. */
export function createSecretReader(
  environment: Readonly<Record<string, string | undefined>>,
): (reference: SecretReference) => string {
  return (reference) => {
    const place = placeOf(reference)
    const secret = 'env' in reference ? environment[reference.env] : readSecret(reference.file)
    if (secret !== undefined && secret !== '') return secret
    throw new Fault('CONFIG', `the profile names the secret ${place}, where there is none`)
  }
}

/** All secrets that the sections of a profile refer to. */
export function collectSecrets(
  value: unknown,
  read: (reference: SecretReference) => string,
): Secrets {
  const found: Record<string, string> = {}
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    const reference = secretReference.safeParse(part)
    if (reference.success) found[placeOf(reference.data)] = read(reference.data)
    else for (const inner of Object.values(part)) visit(inner)
  }
  visit(value)
  return found
}

/** The secret of a reference among those that were collected. */
export function secretFrom(secrets: Secrets): (reference: SecretReference) => string {
  return (reference) => {
    const secret = secrets[placeOf(reference)]
    if (secret !== undefined) return secret
    throw new Fault('CONFIG', `the secret ${placeOf(reference)} was not handed over`)
  }
}

function placeOf(reference: SecretReference): string {
  return 'env' in reference ? `env:${reference.env}` : `file:${reference.file}`
}

function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('CONFIG', `the secret ${path} cannot be read (${code})`, { cause })
  }
}
