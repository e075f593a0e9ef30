import type { HeaderSettings } from '../schemas/settings/gateway-cis.js'
import type { SecretReference } from '../schemas/settings/secret.js'

/** Header fields with their secrets in place. */
export function resolveHeaders(
  headers: HeaderSettings,
  secret: (reference: SecretReference) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : secret(value),
    ]),
  )
}
