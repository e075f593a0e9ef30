import { z } from 'zod'
import { secretReference } from './secret.js'
import { serverUrl } from './server-url.js'

const claimName = z.string().min(1, 'name a claim').max(200)
/** A claim's name, or the names on the way to a nested one. */
const claim = z
  .union([claimName, z.array(claimName).min(1).max(10)], 'name a claim, or list the names')
  .transform((names) => (typeof names === 'string' ? [names] : names))

const clockToleranceSeconds = z.int().min(0).max(60, 'use at most 60 seconds').default(30)
const timeoutMs = z.int().min(10).max(60_000).default(5_000)

/** Signature algorithms that may be trusted: none without a signature, none with a shared secret. */
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

const issuer = z
  .strictObject({
    issuer: serverUrl,
    /** What the token must be meant for; one of them is enough. */
    audience: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)], 'name the audience')
      .transform((names) => (typeof names === 'string' ? [names] : names)),
    /** Where the keys are, if discovery is not to tell. */
    jwksUri: serverUrl.optional(),
    /** Scopes that the token must have, all of them. */
    scopes: z.array(z.string().min(1)).readonly().default([]),
    claim: claim.optional(),
  })
  .readonly()

const oidc = z
  .strictObject({
    kind: z.literal('oidc'),
    claim,
    issuers: z.array(issuer).min(1, 'name at least one issuer').max(20).readonly(),
    algorithms: z
      .array(z.enum(signatureAlgorithms))
      .min(1)
      .readonly()
      .default([...signatureAlgorithms]),
    /** accessToken: only tokens that say so by their type, `at+jwt` (RFC 9068). */
    tokenType: z.enum(['any', 'accessToken']).default('any'),
    clockToleranceSeconds,
    timeoutMs,
    /** How often the keys are fetched again. */
    keySeconds: z.int().min(1).max(86_400).default(300),
    /** How long keys are trusted when they cannot be fetched again. */
    staleSeconds: z.int().min(1).max(604_800).default(21_600),
    /** How soon an unknown key id may cause another fetch. */
    unknownKeySeconds: z.int().min(1).max(3_600).default(30),
    /** Authorities that are trusted instead of the system's, PEM. */
    caFile: z.string().min(1).optional(),
  })
  .readonly()

const introspection = z
  .strictObject({
    kind: z.literal('introspection'),
    claim,
    url: serverUrl,
    clientId: z.string().min(1),
    clientSecret: secretReference,
    audience: z.array(z.string().min(1)).readonly().default([]),
    scopes: z.array(z.string().min(1)).readonly().default([]),
    /** How long an active token is not asked for again; a revoked one is taken that much longer. */
    cacheSeconds: z.int().min(0).max(300).default(0),
    timeoutMs,
    /** Authorities that are trusted instead of the system's, PEM. */
    caFile: z.string().min(1).optional(),
  })
  .readonly()

const text = z.string().min(1).max(1_000)
const texts = (remedy: string) =>
  z
    .union([text, z.array(text).min(1).max(20)], remedy)
    .transform((names): readonly string[] => (typeof names === 'string' ? [names] : names))

const saml = z
  .strictObject({
    kind: z.literal('saml'),
    /** NameID, or the Name of an attribute with one value. */
    claim: claimName.default('NameID'),
    /** The provider's entity id. */
    issuer: text,
    /** What the assertion must be meant for; one of them is enough. */
    audience: texts('name the audience'),
    /** Addresses of assertion consumers that the response may have been made for. */
    recipient: texts('name the address of the assertion consumer'),
    /** PEM files with the provider's signing certificates; old and new ones while they change. */
    certFiles: z.array(z.string().min(1)).min(1, 'name at least one file').max(20).readonly(),
    /** How often the files are looked at; new ones need no restart. */
    certificateSeconds: z.int().min(1).max(86_400).default(10),
    clockToleranceSeconds,
    /** How long after it was issued an assertion is taken, whatever it says itself. */
    ageSecondsMax: z.int().min(60).max(86_400).default(3_600),
  })
  .readonly()

export const identitySettings = z.discriminatedUnion('kind', [oidc, introspection, saml])

export type IdentitySettings = z.output<typeof identitySettings>
export type OidcSettings = z.output<typeof oidc>
export type IssuerSettings = OidcSettings['issuers'][number]
export type IntrospectionSettings = z.output<typeof introspection>
export type SamlSettings = z.output<typeof saml>
