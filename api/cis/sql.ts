import { readFileSync } from 'node:fs'
import pg from 'pg'
import { Fault } from '../../schemas/fault.js'
import type { SqlCisSettings } from '../../schemas/settings/gateway-cis.js'
import type { Cis } from './cis.js'
import { customerNames, meterNames, siteNames, toRecord } from './field-map.js'

type Row = Readonly<Record<string, unknown>>

const idleMs = 60_000
const asNamed = { customer: {}, site: {}, meter: {} } as const

/**
 * A CIS that is a PostgreSQL database: three queries of the profile's, in one read-only transaction,
 * so that a customer is never half of one state and half of the next. Meters name their site.
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
  // A connection that breaks while it is idle is replaced; whoever needs one hears of it.
  pool.on('error', () => undefined)
  return {
    fetch: async (clientId) => {
      const rows = await readAll(pool, settings, clientId)
      const [customer, other] = rows.customer
      if (customer === undefined) return undefined
      if (other !== undefined) {
        throw new Fault('CIS_ANSWER', 'cis.queries.customer gives several rows for one client')
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

/** PostgreSQL's classes of errors that say the query is wrong, not the world: a mistake to mend. */
const mistaken = /^(42|22|0A)/

async function readAll(pool: pg.Pool, settings: SqlCisSettings, clientId: string): Promise<Rows> {
  const { queries, rowsMax } = settings
  let client: pg.PoolClient | undefined
  let failure: Error | undefined
  try {
    client = await pool.connect()
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const ask = async (text: string, names: readonly string[]): Promise<readonly Row[]> => {
      const { rows } = await (client as pg.PoolClient).query<Row>(text, [clientId])
      if (rows.length > rowsMax) {
        throw new Fault('CIS_ANSWER', `the CIS has more than ${rowsMax} rows for one client`)
      }
      return rows.map((row) => rename(row, names))
    }
    const customer = await ask(queries.customer, customerNames)
    const sites = await ask(queries.sites, siteNames)
    const meters = await ask(queries.meters, ['externalSiteId', ...meterNames])
    await client.query('COMMIT')
    return { customer, sites, meters }
  } catch (cause) {
    failure = cause instanceof Error ? cause : new Error(String(cause))
    throw toFault(settings, failure)
  } finally {
    client?.release(failure)
  }
}

/** What the database says may hold values of the customer's: its code is passed on, not its words. */
function toFault({ host, port }: SqlCisSettings, error: Error): Fault {
  if (error instanceof Fault) return error
  const { code } = error as NodeJS.ErrnoException
  if (code !== undefined && mistaken.test(code)) {
    return new Fault('CIS_ANSWER', `the CIS refused a query of cis.queries (SQLSTATE ${code})`)
  }
  const reason = code ?? (/timeout/i.test(error.message) ? 'time-out' : 'failed')
  return new Fault('CIS_UNREACHABLE', `the CIS at ${host}:${port} gave no answer (${reason})`)
}

/** Columns come in lower case: each gets the name that it is, but for case and `_`. */
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
        .filter((meter) => meter['externalSiteId'] === site['externalSiteId'])
        .map(({ externalSiteId: _, ...meter }) => meter),
    })),
  }
}
