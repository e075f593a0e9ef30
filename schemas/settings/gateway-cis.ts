import { z } from 'zod'
import { customerNames, meterNames, siteNames } from '../gateway/cis-names.js'
import { utilityServer } from '../gateway/utility-server.js'
import { section, strict } from '../strict.js'
import { byteSize } from './byte-size.js'
import { secretReference } from './secret.js'

/** Something for some of our fields; a name that is none of theirs is refused. */
function byField<Name extends string, Value extends z.ZodType>(
  names: readonly Name[],
  value: Value,
) {
  const shape = Object.fromEntries(names.map((name) => [name, value.optional()]))
  return section(shape as Readonly<Record<Name, z.ZodOptional<Value>>>)
}

/** Our field names and where the CIS has them: names joined by dots. */
const fieldMap = <Name extends string>(names: readonly Name[]) =>
  byField(names, z.string().min(1).max(500))
const allNames = [...new Set([...customerNames, ...siteNames, ...meterNames])]

const shared = {
  /** Corrects what the CIS writes differently from the specification (decision 7). */
  normalise: z.boolean().default(true),
  required: z.enum(['full', 'launchMinimum']).default('full'),
  /** Whether client and premise identifiers are permanent, so that meters need an accountNumber. */
  permanentIds: z.boolean().default(true),
  /** How long the account status of a customer may be kept (known, active, locked, closed). */
  statusSeconds: z.int().min(0).max(3_600).default(30),
  statusesMax: z.int().min(1).max(10_000_000).default(100_000),
  timeoutMs: z.int().min(10).max(60_000).default(5_000),
  /** Failures in a row after which calls are not tried for `breakerSeconds`. */
  breakerFailures: z.int().min(1).max(1_000).default(10),
  breakerSeconds: z.int().min(1).max(600).default(5),
  /** Values of the CIS and what they are here, by field: `meterType: { E: Electric }`. */
  values: byField(allNames, z.record(z.string(), z.union([z.string(), z.boolean()]))),
} as const

const rest = utilityServer({
  kind: z.literal('rest'),
  /** Behind the url; `{clientId}` is where the identifier goes. */
  customerPath: z
    .string()
    .regex(/^\/[^\s{}]*\{clientId\}[^\s{}]*$/, 'write a path with {clientId} in it')
    .default('/customers/{clientId}'),
  fields: section({
    customer: fieldMap(customerNames),
    site: fieldMap(siteNames),
    meter: fieldMap(meterNames),
  }),
  connectionsMax: z.int().min(1).max(10_000).default(256),
  answerBytesMax: byteSize('1 MB', { min: '1 KB', max: '64 MB' }),
  ...shared,
})

const query = z.string().min(1).max(10_000).regex(/\$1/, 'name the client as $1')

const sql = strict({
  kind: z.literal('sql'),
  host: z.string().min(1),
  port: z.int().min(1).max(65_535).default(5_432),
  database: z.string().min(1),
  user: z.string().min(1),
  password: secretReference.optional(),
  /** verify: TLS with the server's certificate checked; off: for loopback and Unix sockets. */
  tls: z.enum(['verify', 'off']).default('verify'),
  caFile: z.string().min(1).optional(),
  /** Each takes the client as $1; columns are named as the fields, in any case, `_` ignored. */
  queries: strict({ customer: query, sites: query, meters: query }),
  connectionsMax: z.int().min(1).max(1_000).default(10),
  rowsMax: z.int().min(1).max(100_000).default(5_000),
  ...shared,
})

export const cisSettings = z.discriminatedUnion('kind', [rest, sql])

export type CisSettings = z.output<typeof cisSettings>
export type RestCisSettings = z.output<typeof rest>
export type SqlCisSettings = z.output<typeof sql>
export type CisFields = RestCisSettings['fields']
export type CisValues = CisSettings['values']
