import { z } from 'zod'
import { strict } from '../strict.js'

const secretRemedy = 'write { file: <path> } or { env: <NAME> }, not the secret itself'

/** Where a secret lies, a file or an environment variable: a profile never holds the secret. */
export const secretReference = z.union(
  [
    strict({ file: z.string().min(1, secretRemedy) }),
    strict({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, secretRemedy) }),
  ],
  secretRemedy,
)
export type SecretReference = z.output<typeof secretReference>

/** A reference in messages. */
export function secretNameOf(reference: SecretReference): string {
  return 'env' in reference ? `env:${reference.env}` : `file:${reference.file}`
}
