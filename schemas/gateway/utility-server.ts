import { z } from 'zod'
import { secretReference } from '../settings/secret.js'
import { serverUrl } from '../settings/server-url.js'
import { strict } from '../strict.js'

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'use letters, digits and -')
const text = z.string().min(1).max(1_000)

/** An access token by the client credentials grant (RFC 6749, section 4.4). */
const oauth = strict({
  tokenUrl: serverUrl,
  clientId: text,
  /** Without it, `clientCertificate` authenticates at the token endpoint (RFC 8705). */
  clientSecret: secretReference.optional(),
  /** Where the secret is sent: the Authorization header, or the body of the request. */
  secretIn: z.enum(['header', 'body']).default('header'),
  scope: text.optional(),
  audience: text.optional(),
  resource: text.optional(),
})

/** How the CIS, the head-end and the MDM are called over HTTP. */
const settings = {
  url: serverUrl,
  /** Header fields that are sent along; secrets in them by reference. */
  headers: z
    .record(headerName, z.union([secretReference, z.string().max(1_000)]))
    .readonly()
    .default({}),
  oauth: oauth.optional(),
  /** Shown to the server and to the token endpoint; files that change are read again. */
  clientCertificate: strict({ certFile: text, keyFile: text }).optional(),
  /** Certificate authorities (PEM) that replace those of the system. */
  caFile: z.string().min(1).optional(),
} as const

/** The settings of a server of the utility's, and the driver's own. */
export function utilityServer<S extends z.core.$ZodLooseShape>(own: S) {
  return strict({ ...settings, ...own }).superRefine((value, context) => {
    for (const [path, message] of problemsOf(value as UtilityServerSettings)) {
      context.addIssue({ code: 'custom', path: [...path], message })
    }
  })
}

function* problemsOf({
  headers,
  oauth,
  clientCertificate,
}: UtilityServerSettings): Generator<readonly [path: readonly string[], message: string]> {
  if (oauth === undefined) return
  const header = Object.keys(headers).find((name) => name.toLowerCase() === 'authorization')
  if (header !== undefined) yield [['headers', header], 'leave it out, or leave out oauth']
  if (oauth.clientSecret === undefined && clientCertificate === undefined) {
    yield [['oauth', 'clientSecret'], 'missing; add it, or a clientCertificate']
  }
}

const whole = strict(settings)
export type UtilityServerSettings = z.output<typeof whole>
export type OauthSettings = z.output<typeof oauth>
export type HeaderSettings = UtilityServerSettings['headers']
