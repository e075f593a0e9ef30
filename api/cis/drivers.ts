import type { CisSettings, HeaderSettings } from '../../schemas/gateway-cis.js'
import type { SecretReference } from '../../schemas/secret.js'
import type { Cis } from './cis.js'
import { createRestCis } from './rest.js'

type Secret = (reference: SecretReference) => string
type Kind = CisSettings['kind']
type Drivers = {
  readonly [K in Kind]: (settings: Extract<CisSettings, { kind: K }>, secret: Secret) => Cis
}

/** The drivers by the kind that a profile names. */
const drivers: Drivers = {
  rest: (settings, secret) => createRestCis(settings, revealHeaders(settings.headers, secret)),
}

export function createCis(settings: CisSettings, secret: Secret): Cis {
  const create = drivers[settings.kind] as (settings: never, secret: Secret) => Cis
  return create(settings as never, secret)
}

/** Header fields with their secrets in place. */
export function revealHeaders(
  headers: HeaderSettings,
  secret: Secret,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : secret(value),
    ]),
  )
}
