import { z } from 'zod'
import { strict } from '../strict.js'
import { secretReference } from './secret.js'
import { serverUrl } from './server-url.js'

const claimName = z.string().min(1, 'name a claim').max(200)
/** The name of a claim, or the path of names to a nested claim. */
const claim = z
  .union([claimName, z.array(claimName).min(1).max(10)], 'name a claim, or list the names')
  .transform((names) => (typeof names === 'string' ? [names] : names))

const clockToleranceSeconds = z.int().min(0).max(60, 'use at most 60 seconds').default(30)
const timeoutMs = z.int().min(10).max(60_000).default(5_000)

/** Signature algorithms that may be trusted: neither `none` nor HS*, whose secret is shared. */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

const issuer = strict({
  issuer: serverUrl,
  /** The accepted audiences of the token; one match is enough. */
  audience: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], 'name the audience')
    .transform((names) => (typeof names === 'string' ? [names] : names)),
  /** The address of the keys; without it, discovery finds them. */
  jwksUri: serverUrl.optional(),
  /** The scopes that the token must have, all of them. */
  scopes: z.array(z.string().min(1)).readonly().default([]),
  claim: claim.optional(),
})

const oidc = strict({
  kind: z.literal('oidc'),
  claim,
  issuers: z.array(issuer).min(1, 'name at least one issuer').max(20).readonly(),
  algorithms: z
    .array(z.enum(signatureAlgorithms))
    .min(1)
    .readonly()
    .default([...signatureAlgorithms]),
  /** accessToken: only tokens whose header has the type `at+jwt` (RFC 9068). */
  tokenType: z.enum(['any', 'accessToken']).default('any'),
  clockToleranceSeconds,
  timeoutMs,
  /** How often the keys are fetched again. */
  keySeconds: z.int().min(1).max(86_400).default(300),
  /** How long keys are trusted while they cannot be fetched again. */
  staleSeconds: z.int().min(1).max(604_800).default(21_600),
  /** The shortest time between two fetches that unknown key ids cause. */
  unknownKeySeconds: z.int().min(1).max(3_600).default(30),
  /** Certificate authorities (PEM) that replace those of the system. */
  caFile: z.string().min(1).optional(),
})

const introspection = strict({
  kind: z.literal('introspection'),
  claim,
  url: serverUrl,
  clientId: z.string().min(1),
  clientSecret: secretReference,
  audience: z.array(z.string().min(1)).readonly().default([]),
  scopes: z.array(z.string().min(1)).readonly().default([]),
  /** How long an active token is remembered; a revoked token is accepted this much longer. */
  cacheSeconds: z.int().min(0).max(300).default(0),
  timeoutMs,
  /** Certificate authorities (PEM) that replace those of the system. */
  caFile: z.string().min(1).optional(),
})

const text = z.string().min(1).max(1_000)
const texts = (remedy: string) =>
  z
    .union([text, z.array(text).min(1).max(20)], remedy)
    .transform((names): readonly string[] => (typeof names === 'string' ? [names] : names))

const saml = strict({
  kind: z.literal('saml'),
  /** `NameID`, or the Name of an attribute that has one value. */
  claim: claimName.default('NameID'),
  /** The entity ID of the provider. */
  issuer: text,
  /** The accepted audiences of the assertion; one match is enough. */
  audience: texts('name the audience'),
  /** The accepted recipients: addresses of assertion consumers. */
  recipient: texts('name the address of the assertion consumer'),
  /** PEM files with the provider's signing certificates: both, while an old one is replaced. */
  certFiles: z.array(z.string().min(1)).min(1, 'name at least one file').max(20).readonly(),
  /** How often the files are checked for changes; a change needs no restart. */
  certificateSeconds: z.int().min(1).max(86_400).default(10),
  clockToleranceSeconds,
  /** The highest age of an assertion, even if its own conditions allow more. */
  ageSecondsMax: z.int().min(60).max(86_400).default(3_600),
})

const provider = z.discriminatedUnion('kind', [oidc, introspection, saml])

/** Providers side by side: the form and the issuer of a token select one of them. */
const several = strict({
  kind: z.literal('several'),
  providers: z
    .array(provider)
    .min(1, 'name at least one provider')
    .max(10, 'use at most 10 providers')
    .refine((all) => all.filter(({ kind }) => kind === 'introspection').length <= 1, {
      error: 'use one provider of kind introspection: an opaque token does not name its provider',
    })
    .readonly(),
})

export const identitySettings = z.discriminatedUnion('kind', [oidc, introspection, saml, several])

export type ProviderSettings = z.output<typeof provider>
export type IdentitySettings = z.output<typeof identitySettings>
export type OidcSettings = z.output<typeof oidc>
export type IssuerSettings = OidcSettings['issuers'][number]
export type IntrospectionSettings = z.output<typeof introspection>
export type SamlSettings = z.output<typeof saml>
