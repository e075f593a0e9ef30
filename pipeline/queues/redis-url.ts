import type { RedisOptions } from 'ioredis'
import { Fault } from '../../schemas/fault.js'
import { readTlsFiles } from '../tls-files.js'

const portOf = { server: 6_379, sentinel: 26_379 } as const
const form =
  /^(?<scheme>rediss?)(?<watched>\+sentinel)?:\/\/(?<user>[^/?]*@)?(?<hosts>[^/?@]+)(?<rest>[^@]*)$/

interface RedisParts {
  readonly scheme: string
  readonly watched?: string
  readonly user?: string
  readonly hosts: string
  readonly rest: string
}

/** Throws `CONFIG` without the URL, which has a password. */
function partsOf(url: string): RedisParts {
  const parts = form.exec(url)?.groups
  if (parts !== undefined) return parts as unknown as RedisParts
  const forms = 'redis://, rediss://, redis+sentinel:// or rediss+sentinel://'
  throw new Fault(
    'CONFIG',
    `REDIS_URL must be ${forms}, then USER:PASSWORD@HOST:PORT; ${encodeRemedy}`,
  )
}

/** The URL without passwords and files, for messages. */
export function shownRedisUrl(url: string): string {
  const { scheme, watched = '', hosts, rest } = partsOf(url)
  return `${scheme}${watched}://${hosts}${rest.replace(/\?.*$/, '').replace(/\/$/, '')}`
}

/**
 * How to connect to `redis[s]://USER:PASSWORD@HOST/DATABASE`, or to the primary that the Sentinels of
 * `redis[s]+sentinel://USER:PASSWORD@HOST,HOST/NAME` name. Parameters of the URL name the files for TLS
 * and the user of the Sentinels, so that one text has all that a process needs. Throws `CONFIG`.
 */
export function redisOptionsOf(url: string): Omit<RedisOptions, 'replyMapping'> {
  const { scheme, watched, user = '', hosts, rest } = partsOf(url)
  const places = hosts.split(',')
  const parsed = parse(`redis://${user}${places[0]}${rest}`)
  refuseUnknown(parsed, { isSecure: scheme === 'rediss', isWatched: watched !== undefined })
  const { sentinelUsername, sentinelPassword, ...files } = Object.fromEntries(parsed.searchParams)
  const path = decoded(parsed.pathname.replace(/^\/|\/$/g, ''))
  const tls = scheme === 'rediss' ? { ...readTlsFiles('REDIS', files) } : undefined
  const shared = {
    ...(parsed.username && { username: decoded(parsed.username) }),
    ...(parsed.password && { password: decoded(parsed.password) }),
    ...(tls && { tls }),
  }
  const at = (place: string, port: number) => {
    const { hostname, port: own } = parse(`redis://${place}`)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(own) || port }
  }
  if (watched === undefined) {
    if (/^\d*$/.test(path)) return { ...shared, ...at(hosts, portOf.server), db: Number(path) }
    throw new Fault('CONFIG', 'REDIS_URL must end with /NUMBER of the database, or with the port')
  }
  if (path === '') throw new Fault('CONFIG', 'REDIS_URL must end with /NAME of the primary')
  return {
    ...shared,
    name: path,
    sentinels: places.map((place) => at(place, portOf.sentinel)),
    ...(sentinelUsername && { sentinelUsername }),
    ...(sentinelPassword && { sentinelPassword }),
    ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  }
}

/** A parameter that means nothing here would be ignored, and a password with a # would lose its end. */
function refuseUnknown(
  { hash, searchParams }: URL,
  { isSecure, isWatched }: { readonly isSecure: boolean; readonly isWatched: boolean },
): void {
  if (hash !== '') throw new Fault('CONFIG', notUrl)
  const known = [
    ...(isWatched ? ['sentinelUsername', 'sentinelPassword'] : []),
    ...(isSecure ? ['caFile', 'certFile', 'keyFile'] : []),
  ]
  if ([...searchParams.keys()].every((name) => known.includes(name))) return
  const remedy = isWatched
    ? 'use only sentinelUsername and sentinelPassword'
    : 'remove all after ?, and write a database as /NUMBER after the port'
  throw new Fault('CONFIG', `REDIS_URL has an unknown parameter; ${remedy}`)
}

/** How a URL has the characters that would end its user or password. */
export const encodeRemedy = 'in USER and PASSWORD write % as %25, / as %2F, # as %23 and ? as %3F'
const notUrl = `REDIS_URL is not a URL; ${encodeRemedy}`

function parse(url: string): URL {
  if (URL.canParse(url)) return new URL(url)
  throw new Fault('CONFIG', notUrl)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Fault('CONFIG', notUrl)
  }
}
