import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { createExchange, type StoredPart } from './exchange.js'
import { setInterserver } from './interserver.js'
import { openMemory } from './memory.js'

interface Addon {
  CreateConnection(path: string, options?: readonly string[]): object
  QueryAsyncConnection(
    connection: object,
    sql: string,
    format: string,
  ): Promise<{ readonly bytes: Uint8Array }>
}

const host = '127.0.0.1'

/**
 * The engine's server with what makes two databases two replicas: Keeper in memory, an interserver
 * address, and a server behind it that hands parts from one replica to the other.
 */
const require = createRequire(import.meta.url)
const loader = join(dirname(require.resolve('chdb/package.json')), 'dist', 'loader.js')
const addon = (require(loader) as { loadNative(): Addon }).loadNative()
const connect = addon.CreateConnection
let isOpen = false
let storePath = ''

const exchange = createExchange(findPart)
await new Promise<void>((resolve) => exchange.listen(0, host, resolve))
const { port } = exchange.address() as AddressInfo

addon.CreateConnection = (path, options) => {
  if (isOpen) return connect(path, options)
  storePath = path
  const [, configPath = ''] = /^--config-file=(.+)$/.exec(options?.[0] ?? '') ?? []
  writeFileSync(configPath, withReplicas(readFileSync(configPath, 'utf8'), port))
  const connection = connect(path, options)
  setInterserver(openMemory(), { path: `${path}/`, host, port })
  isOpen = true
  return connection
}

await import('../../../infra/clickhouse/server.js')

async function findPart(
  database: string,
  table: string,
  name: string,
): Promise<StoredPart | undefined> {
  const sql = `SELECT path, part_type AS type FROM system.parts
    WHERE database = '${database}' AND table = '${table}' AND name = '${name.replace(/\W/g, '')}'`
  const { bytes } = await addon.QueryAsyncConnection(connect(storePath), sql, 'JSONEachRow')
  const text = Buffer.from(bytes).toString()
  return text === '' ? undefined : (JSON.parse(text) as StoredPart)
}

/** With the one or two threads of a pool that chDB has, replicas wait for each other's tables. */
const pools = ['schedule', 'fetches', 'common'] as const
const threads = 8

/** The engine's configuration with Keeper, an interserver port, larger pools and two clusters. */
function withReplicas(config: string, port: number): string {
  const sizes = pools.map((pool) => {
    const name = `background_${pool}_pool_size`
    return `  <${name}>${threads}</${name}>
`
  })
  const more = `  <zookeeper><implementation>testkeeper</implementation></zookeeper>
  <interserver_http_port>${port}</interserver_http_port>
${sizes.join('')}  <remote_servers>
    <two><shard>${toServer(1)}${toServer(2)}</shard></two>
    <split><shard>${toServer(1)}</shard><shard>${toServer(2)}</shard></split>
  </remote_servers>
`
  return config.replace('</clickhouse>', () => `${more}</clickhouse>`)
}

/** Nothing listens there: it is asked for by name alone. */
function toServer(number: number): string {
  return `<replica><host>127.0.0.${number}</host><port>1</port></replica>`
}
