import { readFileSync } from 'node:fs'
import pg from 'pg'
import { Fault } from '../../schemas/fault.js'
import { customerNames, meterNames, siteNames } from '../../schemas/gateway/cis-names.js'
import type { SqlCisSettings } from '../../schemas/settings/gateway-cis.js'
import type { Cis } from './cis.js'
import { toRecord } from './field-map.js'

type Row = Readonly<Record<string, unknown>>

const idleMs = 60_000
const asNamed = { customer: {}, site: {}, meter: {} } as const

/**
 * A CIS in a PostgreSQL database: the profile's three queries run in one read-only transaction, so
 * that a customer is always a consistent snapshot. Meters name their site.
 */
export function createSqlCis(settings: SqlCisSettings, password: string | undefined): Cis {
  const pool = new pg.Pool({
    host: settings.host,
    port: settings.port,
    database: settings.database,
    user: settings.user,
    password,
    ssl: sslOf(settings),
    max: settings.connectionsMax,
    idleTimeoutMillis: idleMs,
    connectionTimeoutMillis: settings.timeoutMs,
    query_timeout: settings.timeoutMs,
    statement_timeout: settings.timeoutMs,
    application_name: 'tieline',
  })
  // A broken idle connection is replaced; the next query reports a lasting failure.
  pool.on('error', () => undefined)
  // One that breaks in use fails its query. The pool does not listen to it then, and Node would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return {
    fetch: async (clientId) => {
      const rows = await readAll(pool, settings, clientId)
      const [customer, other] = rows.customer
      if (customer === undefined) return undefined
      if (other !== undefined) {
        throw new Fault('CIS_ANSWER', 'cis.queries.customer returns several rows for one client')
      }
      return toRecord(assemble(customer, rows), asNamed, settings.values)
    },
    close: () => pool.end(),
  }
}

function sslOf({ tls, caFile }: SqlCisSettings): false | { ca?: Buffer } {
  if (tls === 'off') return false
  return caFile === undefined ? {} : { ca: readFileSync(caFile) }
}

interface Rows {
  readonly customer: readonly Row[]
  readonly sites: readonly Row[]
  readonly meters: readonly Row[]
}

const nothing: Rows = { customer: [], sites: [], meters: [] }

/** Classes of SQLSTATE that name a mistake of the configuration: login, database, query, types. */
const misconfigured = /^(28|3D|42|22|0A)/
/** Where PostgreSQL converts a parameter to its type, whatever the language of the message. */
const atParameter = /^[^"'\n]*\$1( |$)/
/** Classes whose messages quote values, of which one may be a customer's. */
const quotesValues = /^(22|23|P0|XX)/

async function readAll(pool: pg.Pool, settings: SqlCisSettings, clientId: string): Promise<Rows> {
  const { queries, rowsMax } = settings
  let client: pg.PoolClient | undefined
  let failure: Error | undefined
  let step = `the login at ${settings.host}:${settings.port}`
  try {
    client = await begin(pool).catch((error) => {
      if (!hasEnded(error)) throw error
      return begin(pool)
    })
    const ask = async (query: keyof typeof queries, names: readonly string[]) => {
      step = `cis.queries.${query}`
      const text = queries[query]
      const { rows } = await (client as pg.PoolClient).query<Row>(text, [clientId])
      if (rows.length > rowsMax) {
        throw new Fault('CIS_ANSWER', `the CIS returned more than ${rowsMax} rows for one client`)
      }
      return rows.map((row) => rename(row, names))
    }
    const customer = await ask('customer', customerNames)
    const sites = await ask('sites', siteNames)
    const meters = await ask('meters', ['externalSiteId', ...meterNames])
    await client.query('COMMIT')
    return { customer, sites, meters }
  } catch (cause) {
    failure = cause instanceof Error ? cause : new Error(String(cause))
    if (step === 'cis.queries.customer' && isAtParameter(failure)) return nothing
    throw toFault(failure, step, settings)
  } finally {
    client?.release(failure)
  }
}

/** Whether the client cannot be converted to the type that the query has, as a word where clients are numbers. */
function isAtParameter(error: Error): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  return /^22/.test(error.code ?? '') && atParameter.test(error.where ?? '')
}

async function begin(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return client
  } catch (error) {
    client.release(error as Error)
    throw error
  }
}

/** Whether the server had ended a connection of which the pool did not know yet. */
function hasEnded(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^57P/.test(error.code ?? '')
}

/**
 * Says which step failed, PostgreSQL's own message, and whether the profile or the server is at fault. What a
 * function raises may quote a value, whatever its class.
 */
function toFault(error: Error, step: string, settings: SqlCisSettings): Fault {
  const { host, port, user, password } = settings
  if (error instanceof Fault) return error
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof pg.DatabaseError && code !== undefined) {
    const isRaised = error.where !== undefined && !isAtParameter(error)
    const isQuoting = isRaised || quotesValues.test(code)
    const said = isQuoting ? '' : `: ${error.message.split('\n', 1)[0]}`
    const where = isRaised ? ', raised in a function' : ''
    const what = `PostgreSQL rejected ${step}${said} (SQLSTATE ${code}${where})`
    return misconfigured.test(code)
      ? new Fault('CIS_ANSWER', `configuration: ${what}; fix the section cis of the profile`)
      : new Fault('CIS_UNREACHABLE', `outage: ${what}`)
  }
  // The client has a message of its own for this, without a code.
  if (password === undefined && /password must be a string/.test(error.message)) {
    const what = `PostgreSQL asks user ${user} for a password; set cis.password in the profile`
    return new Fault('CIS_ANSWER', `configuration: ${what}`)
  }
  const reason = code ?? (/timeout/i.test(error.message) ? 'time-out' : 'failed')
  return new Fault('CIS_UNREACHABLE', `no response from the CIS at ${host}:${port} (${reason})`)
}

/** Maps lower-case columns to field names, ignoring case and `_`. */
function rename(row: Row, names: readonly string[]): Row {
  const plain = (name: string) => name.toLowerCase().replaceAll('_', '')
  const byPlain = new Map(names.map((name) => [plain(name), name]))
  return Object.fromEntries(
    Object.entries(row).flatMap(([column, value]) => {
      const name = byPlain.get(plain(column))
      return name === undefined ? [] : [[name, value]]
    }),
  )
}

function assemble(customer: Row, { sites, meters }: Rows): Row {
  return {
    ...customer,
    customerSites: sites.map((site) => ({
      ...site,
      meters: meters
        .filter((meter) => siteOf(meter) === siteOf(site))
        .map(({ externalSiteId: _, ...meter }) => meter),
    })),
  }
}

/** As text: PostgreSQL sends `int` as a number, `bigint` as text, and `char` with blanks behind it. */
function siteOf({ externalSiteId }: Row): string {
  return String(externalSiteId).trim()
}
