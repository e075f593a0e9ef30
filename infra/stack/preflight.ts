import { readAuthorities, readPair } from '../../api/http-client.js'
import { readKeyFile } from '../../api/identity/signing-keys.js'
import { readCertificates } from '../../api/listeners/certificates.js'
import { checkSocketPath, toListenFault } from '../../api/listeners/listener.js'
import { resolveHeaders } from '../../api/utility-client.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import { type External, externalRedis, externalStore } from './addresses.js'
import { isSamePort, type NamedListener, namedListeners, whyTaken } from './port.js'
import { collectSecrets } from './secrets.js'

export interface PreflightContext {
  readonly external?: External
  readonly secret: (reference: SecretReference) => string
  /** Whether the stack outlives its command; only then it has listeners. */
  readonly stays?: boolean
  /** Ports that the options of the command name for the servers of the start. */
  readonly ports?: { readonly clickhouse?: number; readonly redis?: number }
}

/**
 * What a start with this profile would fail of: secrets, certificates, ports, the socket and
 * the user of readers. Nothing is started for it. Paths in the profile are absolute.
 */
export async function preflight(
  profile: Profile,
  context: PreflightContext,
): Promise<readonly Fault[]> {
  const { external = {}, secret, stays = true } = context
  const { sources, backfill, alerts } = profile
  const parts = stays ? Object.values(profile) : [sources, backfill, alerts]
  const checks = [
    ...parts.map((part) => () => collectSecrets(part, secret)),
    ...parts.flatMap((part) => partChecks(part, secret)),
    () => externalRedis(external),
    () => checkReader(profile, external, stays),
    ...(stays ? listenerChecks(profile, context) : []),
  ]
  const faults = (await Promise.all(checks.map(faultOf))).flat()
  // One secret in several settings, or in a header, is one problem.
  return [...new Map(faults.map((fault) => [fault.message, fault])).values()]
}

/** Throws the faults that were found as one. */
export function throwFaults([first, ...more]: readonly Fault[]): void {
  if (first === undefined) return
  if (more.length === 0) throw first
  const details = [first, ...more].map(({ detail }) => detail)
  throw new Fault(first.code, details.join('\n'), { cause: first })
}

async function faultOf(check: () => unknown): Promise<readonly Fault[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (error instanceof Fault) return [error]
    throw error
  }
}

/** The gateway reads for customers as a user who can only read. */
function checkReader(profile: Profile, external: External, stays: boolean): void {
  const addresses = externalStore(external, profile.database)
  const isRead = stays && profile.gateway !== undefined && profile.reads !== undefined
  if (!isRead || addresses === undefined || addresses.reader !== addresses.store) return
  const remedy = 'set CLICKHOUSE_READER_URL to a user with the role of readers'
  throw new Fault('CONFIG', `the section reads needs a user who can only read: ${remedy}`)
}

function listenerChecks(profile: Profile, context: PreflightContext): readonly (() => unknown)[] {
  const { socket } = profile.gateway?.listen ?? {}
  return [
    ...certificateChecks(profile),
    () => checkPortsDiffer(profile, context),
    ...(socket === undefined ? [] : [() => checkSocketPath(socket)]),
    ...namedListeners(profile).map((at) => () => checkPort(at)),
  ]
}

function certificateChecks({ gateway, worker }: Profile): readonly (() => unknown)[] {
  const of = [
    [gateway?.listen?.tls, 'gateway.listen.tls'],
    [gateway?.mutual?.tls, 'gateway.mutual.tls'],
    [worker.operations.tls, 'worker.operations.tls'],
  ] as const
  return of.flatMap(([files, setting]) =>
    files === undefined ? [] : [() => readCertificates(files, setting)],
  )
}

type SecretReader = PreflightContext['secret']

/** What reads the settings of these names, in any section. */
const partReaders: Readonly<Record<string, (value: never, secret: SecretReader) => unknown>> = {
  caFile: readAuthorities,
  clientCertificate: readPair,
  certFiles: (paths: readonly string[]) => paths.map(readKeyFile),
  headers: resolveHeaders,
}

/** Of the certificates by which a part of the profile trusts servers, or shows itself, and of headers. */
function partChecks(part: unknown, secret: SecretReader): readonly (() => unknown)[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) => {
    const read = partReaders[name]
    if (read === undefined || value === undefined) return partChecks(value, secret)
    return [() => read(value as never, secret)]
  })
}

/** Throws where two listeners, or a listener and a server of this start, would have the same port. */
function checkPortsDiffer(
  profile: Profile,
  { external = {}, ports = {} }: Pick<PreflightContext, 'external' | 'ports'>,
): void {
  const wanted = [
    ['--clickhouse-port', external.clickhouseUrl === undefined ? ports.clickhouse : undefined],
    ['--redis-port', external.redisUrl === undefined ? ports.redis : undefined],
  ] as const
  const all = [
    ...namedListeners(profile),
    ...wanted.flatMap(([setting, port]) => (port ? [{ setting, host: '127.0.0.1', port }] : [])),
  ]
  for (const [at, one] of all.entries()) {
    const other = all.slice(0, at).find((before) => isSamePort(before, one))
    if (other === undefined) continue
    const detail = `${other.setting} and ${one.setting} both listen on port ${one.port}; give each its own`
    throw new Fault(one.setting.startsWith('--') ? 'CONFIG' : 'PROFILE', detail)
  }
}

async function checkPort(at: NamedListener): Promise<void> {
  const code = await whyTaken(at)
  if (code !== undefined) throw toListenFault(at, { code })
}
