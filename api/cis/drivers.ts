import type { CisSettings } from '../../schemas/settings/gateway-cis.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { Cis } from './cis.js'
import { createRestCis } from './rest.js'
import { createSqlCis } from './sql.js'

type Secret = (reference: SecretReference) => string
type Kind = CisSettings['kind']
type Drivers = {
  readonly [K in Kind]: (settings: Extract<CisSettings, { kind: K }>, secret: Secret) => Cis
}

/** The drivers by their kind in the profile. */
const drivers: Drivers = {
  rest: createRestCis,
  sql: (settings, secret) =>
    createSqlCis(settings, settings.password === undefined ? undefined : secret(settings.password)),
}

export function createCis(settings: CisSettings, secret: Secret): Cis {
  const create = drivers[settings.kind] as (settings: never, secret: Secret) => Cis
  return create(settings as never, secret)
}
