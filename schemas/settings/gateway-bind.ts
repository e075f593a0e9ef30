import { z } from 'zod'
import { utilityServer } from '../gateway/utility-server.js'
import { strict } from '../strict.js'
import { byteSize } from './byte-size.js'

const path = (parameter: string) =>
  z
    .string()
    .regex(
      new RegExp(`^/[^\\s{}]*\\{${parameter}\\}[^\\s{}]*$`),
      `write a path with {${parameter}}`,
    )

const rest = utilityServer({
  kind: z.literal('rest'),
  /** Answers `{ meterId }` for an account service location. */
  locationPath: path('accountSlid').default('/locations/{accountSlid}'),
  /** Answers `{ meterId, isAMI, boundTo, pendingFor }`, addresses of hubs or null. */
  meterPath: path('meterId').default('/meters/{meterId}'),
  /** Takes an action: `{ actionId, actionCode, meterId, macAddress, installCode }`. */
  actionPath: z
    .string()
    .regex(/^\/[^\s{}]*$/, 'write a path')
    .default('/actions'),
  timeoutMs: z.int().min(10).max(120_000).default(10_000),
  connectionsMax: z.int().min(1).max(1_000).default(32),
  answerBytesMax: byteSize('64 KB', { min: '1 KB', max: '1 MB' }),
})

export const amiSettings = z.discriminatedUnion('kind', [rest])
export type AmiSettings = z.output<typeof amiSettings>
export type RestAmiSettings = z.output<typeof rest>

/** `scrypt$N$r$p$salt$hash`, salt and hash in base64url, as `tieline password` prints it. */
const passwordHash = z
  .string()
  .regex(
    /^scrypt\$\d{4,7}\$\d{1,2}\$\d{1,2}\$[\w-]{16,}\$[\w-]{43}$/,
    'write the line that tieline password prints',
  )

/** The fields of a service account. */
export const serviceUser = { name: z.string().regex(/^[^:\s]{1,64}$/), passwordHash }

/** Service accounts, for basic authentication. */
export const serviceUsers = z.array(strict(serviceUser)).min(1, 'name at least one user').readonly()

export const bindSettings = strict({
  /** The service accounts that may bind. */
  users: serviceUsers,
  eui64: z.boolean().default(false),
  installCodeCrc: z.enum(['off', 'warn', 'enforce']).default('warn'),
})
export type BindSettings = z.output<typeof bindSettings>
