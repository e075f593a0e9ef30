import { z } from 'zod'

const secretRemedy = 'write { file: <path> } or { env: <NAME> }, not the secret itself'

/** Where a secret lies, a file or an environment variable: a profile never holds the secret. */
export const secretReference = z.union(
  [
    z.strictObject({ file: z.string().min(1, secretRemedy) }).readonly(),
    z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, secretRemedy) }).readonly(),
  ],
  secretRemedy,
)
export type SecretReference = z.output<typeof secretReference>
