import type { IdentitySettings, ProviderSettings } from '../../schemas/settings/gateway-identity.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { Identity, IdentityOptions } from './identity.js'
import { createIntrospection } from './introspection.js'
import { createOidc } from './oidc.js'
import { createSaml } from './saml.js'
import { combineIdentities } from './several.js'

interface DriverOptions extends IdentityOptions {
  readonly secret: (reference: SecretReference) => string
}

type Kind = IdentitySettings['kind']
type Drivers = {
  readonly [K in Kind]: (
    settings: Extract<IdentitySettings, { kind: K }>,
    options: DriverOptions,
  ) => Identity
}

/** The driver of each kind that a profile can name. */
const drivers: Drivers = {
  oidc: (settings, options) => createOidc({ settings, ...options }),
  introspection: (settings, { secret, ...options }) =>
    createIntrospection({ settings, clientSecret: secret(settings.clientSecret), ...options }),
  saml: (settings, options) => createSaml({ settings, ...options }),
  several: ({ providers }, options) =>
    combineIdentities(
      providers.map((one) => ({
        kind: one.kind,
        issuers: issuersOf(one),
        identity: createIdentity(one, options),
      })),
      options,
    ),
}

function issuersOf(settings: ProviderSettings): readonly string[] {
  if (settings.kind === 'oidc') return settings.issuers.map(({ issuer }) => issuer)
  return settings.kind === 'saml' ? [settings.issuer] : []
}

export function createIdentity(settings: IdentitySettings, options: DriverOptions): Identity {
  const create = drivers[settings.kind] as Drivers[Kind]
  return create(settings as never, options)
}
