import { z } from 'zod'
import { readsSettings } from '../gateway/reads-settings.js'
import { section, strict } from '../strict.js'
import { amiSettings, bindSettings } from './gateway-bind.js'
import { cisSettings } from './gateway-cis.js'
import { identitySettings } from './gateway-identity.js'
import { listenerSettings } from './gateway-listener.js'
import { intakeSettings } from './intake.js'

/** Specification 9: a new major version overlaps the old one for at least 90 days. */
const overlapDaysMin = 90
const dayMs = 86_400_000

const version = z
  .strictObject({
    name: z.string().regex(/^v\d{1,3}$/, 'use v and a number, such as v1'),
    deprecatedOn: z.iso.date('use a day, YYYY-MM-DD').optional(),
    sunsetOn: z.iso.date('use a day, YYYY-MM-DD').optional(),
  })
  .refine(hasOverlap, {
    path: ['sunsetOn'],
    error: `choose a day at least ${overlapDaysMin} days after deprecatedOn`,
  })
  .readonly()

const gateway = strict({
  ...listenerSettings,
  versions: z
    .array(version)
    .min(1, 'name at least one version')
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
      error: 'name each version once',
    })
    .readonly()
    .prefault([{ name: 'v1' }]),
})

const statusLetter = z.string().regex(/^[A-Za-z]$/, 'use one letter')

/** The sections of a profile that describe the real-time gateway; without `gateway` none runs. */
export const gatewaySettings = {
  gateway: gateway.optional(),
  identity: identitySettings.optional(),
  cis: cisSettings.optional(),
  ami: amiSettings.optional(),
  bind: bindSettings.optional(),
  intake: intakeSettings.optional(),
  reads: readsSettings.optional(),
  /**
   * How customer and bind report failures. Specification 7 has two descriptions: 401 with an error
   * code in the body (`table`), or a 4xx status without a body (`status`).
   */
  errorStyle: z.enum(['table', 'status']).default('table'),
  /** Account states that are answered with 86 (decision 5). */
  closedStatuses: z.array(statusLetter).readonly().default(['F', 'L', 'C', 'Z', 'S', 'X', 'U']),
  login: section({
    unknown: z.union([z.literal(401), z.literal(404)], 'use 401 or 404').default(401),
  }),
} as const

export type GatewaySettings = z.output<typeof gateway>
export type GatewayVersion = GatewaySettings['versions'][number]
export type ErrorStyle = 'table' | 'status'

interface Sections {
  readonly gateway?: GatewaySettings | undefined
  readonly identity?: { readonly kind: string } | undefined
  readonly cis?: unknown
  readonly ami?: unknown
  readonly bind?: unknown
  readonly intake?: unknown
  readonly reads?: { readonly users?: unknown; readonly connect?: unknown } | undefined
  readonly ingestion?: string
  readonly backfill?: unknown
}

interface Gap {
  readonly path: readonly string[]
  readonly message: string
}

/** What one section needs of another. */
export function findGaps(sections: Sections): readonly Gap[] {
  const { gateway, identity, cis, ami, bind, intake, reads, ingestion, backfill } = sections
  const isBackfill = ingestion === 'backfill'
  const mutual = gateway?.mutual
  const rules: readonly (readonly [isGap: boolean, path: string, message: string])[] = [
    [isBackfill && !backfill, 'backfill', 'missing: `ingestion: backfill` needs this section'],
    [!isBackfill && !!backfill, 'ingestion', 'write backfill, or leave the section backfill out'],
    [!!gateway && !identity, 'identity', 'missing: the gateway needs this section'],
    [!!gateway && !cis, 'cis', 'missing: the gateway needs this section'],
    [!!bind && !ami, 'ami', 'missing: bind needs this section'],
    [!!bind && !mutual, 'gateway.mutual', 'missing: bind needs a listener with mutual TLS'],
    [!!intake && !mutual, 'gateway.mutual', 'missing: intake needs a listener with mutual TLS'],
    [!!reads && !gateway, 'gateway', 'missing: reads needs this section'],
    [
      !!reads?.users && !mutual,
      'gateway.mutual',
      'missing: reads.users needs a listener with mutual TLS',
    ],
    [
      !!reads?.connect && identity?.kind === 'saml',
      'reads.connect',
      'use identity of kind oidc or introspection: a SAML response has no scope',
    ],
    [
      gateway?.mutualTls === 'all' && !mutual,
      'gateway.mutual',
      'missing: `mutualTls: all` needs this section',
    ],
    [
      gateway?.mutualTls === 'bind' && !gateway.listen && !mutual,
      'gateway.listen',
      'missing: login and customer need a listener',
    ],
  ]
  return rules.flatMap(([isGap, path, message]) =>
    isGap ? [{ path: path.split('.'), message }] : [],
  )
}

function hasOverlap(value: { deprecatedOn?: string | undefined; sunsetOn?: string | undefined }) {
  const { deprecatedOn, sunsetOn } = value
  if (sunsetOn === undefined) return true
  if (deprecatedOn === undefined) return false
  return Date.parse(sunsetOn) - Date.parse(deprecatedOn) >= overlapDaysMin * dayMs
}
