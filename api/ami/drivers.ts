import type { AmiSettings } from '../../schemas/settings/gateway-bind.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { Ami } from './ami.js'
import { createRestAmi } from './rest.js'

type Secret = (reference: SecretReference) => string
type Drivers = {
  readonly [K in AmiSettings['kind']]: (
    settings: Extract<AmiSettings, { kind: K }>,
    secret: Secret,
  ) => Ami
}

/** The drivers by their kind in the profile. */
const drivers: Drivers = {
  rest: createRestAmi,
}

export function createAmi(settings: AmiSettings, secret: Secret): Ami {
  return drivers[settings.kind](settings, secret)
}
