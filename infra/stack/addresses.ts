import { resolve } from 'node:path'
import { encodeRemedy, redisOptionsOf } from '../../pipeline/queues/redis-url.js'
import type { StoreAddress } from '../../pipeline/store/clickhouse.js'
import { readTlsFiles, type TlsFiles } from '../../pipeline/tls-files.js'
import { Fault } from '../../schemas/fault.js'
import type { Home } from './home.js'
import type { RunState } from './run-state.js'

/** External servers: CLICKHOUSE_URL, CLICKHOUSE_READER_URL and REDIS_URL, and the files for their TLS. */
export interface External {
  readonly clickhouseUrl?: string
  readonly clickhouseTls?: TlsFiles
  /** Credentials that `tieline sql` uses; without it those of the writer, restricted to reading. */
  readonly clickhouseReaderUrl?: string
  readonly redisUrl?: string
  readonly redisTls?: TlsFiles
}

/** Addresses and credentials of the parts of a stack. */
export interface Addresses {
  readonly store: StoreAddress
  readonly reader: StoreAddress
  readonly redisUrl: string
}

export const writerUser = 'tieline'
export const readerUser = 'reader'

/** The store's and readers' addresses of an `http(s)://user:password@host:port` URL. */
export function externalStore(
  external: External,
  database: string,
): Pick<Addresses, 'store' | 'reader'> | undefined {
  const { clickhouseUrl, clickhouseReaderUrl, clickhouseTls = {} } = external
  if (clickhouseUrl === undefined) return undefined
  const tlsFiles = checkedTls('CLICKHOUSE', clickhouseTls)
  const addressOf = (name: string, text: string): StoreAddress => {
    const address = toStoreAddress(name, text, database)
    if (tlsFiles === undefined) return address
    if (address.url.startsWith('https:')) return { ...address, tlsFiles }
    throw new Fault('CONFIG', `${name} must begin with https:// to use the CLICKHOUSE_..._FILE`)
  }
  const store = addressOf('CLICKHOUSE_URL', clickhouseUrl)
  const reader =
    clickhouseReaderUrl === undefined
      ? store
      : addressOf('CLICKHOUSE_READER_URL', clickhouseReaderUrl)
  return { store, reader }
}

/** Files that are there and usable, by absolute paths; undefined if none is named. */
function checkedTls(server: 'CLICKHOUSE' | 'REDIS', files: TlsFiles): TlsFiles | undefined {
  const named = Object.entries(files).filter(([, path]) => path)
  if (named.length === 0) return undefined
  const tls = Object.fromEntries(named.map(([kind, path]) => [kind, resolve(path)]))
  readTlsFiles(server, tls)
  return tls
}

/** The addresses of an embedded ClickHouse at `url`. */
export function embeddedStore(
  home: Home,
  url: string,
  database: string,
): Pick<Addresses, 'store' | 'reader'> {
  const { secrets } = home
  return {
    store: { url, username: writerUser, password: secrets.writer, database },
    reader: { url, username: readerUser, password: secrets.reader, database },
  }
}

/** The validated URL of an external Redis, with the files for its TLS. Throws `CONFIG`. */
export function externalRedis(external: External): string | undefined {
  const { redisUrl, redisTls = {} } = external
  if (redisUrl === undefined) return undefined
  redisOptionsOf(redisUrl)
  const files = checkedTls('REDIS', redisTls)
  if (files === undefined) return redisUrl
  if (!redisUrl.startsWith('rediss')) {
    throw new Fault('CONFIG', 'REDIS_URL must begin with rediss to use the REDIS_..._FILE')
  }
  const parameters = new URLSearchParams(Object.entries(files))
  return `${redisUrl}${redisUrl.includes('?') ? '&' : '?'}${parameters}`
}

/** The addresses of a running stack, from its run.json, secrets and environment variables. */
export function addressesOf(home: Home, run: RunState, external: External): Addresses {
  const store = run.clickhouse.embedded
    ? embeddedStore(home, run.clickhouse.url, run.database)
    : externalStore(external, run.database)
  const redisUrl = run.redis.embedded
    ? withPassword(run.redis.url, home.secrets.redis)
    : externalRedis(external)
  if (store === undefined || redisUrl === undefined) {
    const name = store === undefined ? 'CLICKHOUSE_URL' : 'REDIS_URL'
    throw new Fault('CONFIG', `pid ${run.pid} runs with ${name}; set the same value here`)
  }
  return { ...store, redisUrl }
}

/** A URL without user and password, for output and run.json. */
export function withoutPassword(url: string): string {
  const parsed = new URL(url)
  parsed.username = ''
  parsed.password = ''
  return parsed.toString().replace(/\/$/, '')
}

function withPassword(url: string, password: string): string {
  const parsed = new URL(url)
  parsed.password = password
  return parsed.toString()
}

/** Without the cause of a refusal, which would show the password. */
function toStoreAddress(name: string, text: string, database: string): StoreAddress {
  const form = 'must be http:// or https://, then USER:PASSWORD@HOST:PORT without parameters'
  const detail = `${name} ${form}: the profile names the database; ${encodeRemedy}`
  const refused = new Fault('CONFIG', detail)
  try {
    const { protocol, username, password, pathname, search, hash } = new URL(text)
    if (!/^https?:$/.test(protocol) || pathname.includes('@') || search || hash) throw refused
    return {
      url: withoutPassword(text),
      username: decodeURIComponent(username) || 'default',
      password: decodeURIComponent(password),
      database,
    }
  } catch {
    throw refused
  }
}
