import { readAuthorities, readPair } from '../../api/http-client.js'
import { readKeyFile } from '../../api/identity/signing-keys.js'
import { readCertificates } from '../../api/listeners/certificates.js'
import { checkSocketPath } from '../../api/listeners/listener.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import { type External, externalRedis, externalStore } from './addresses.js'
import { whyTaken } from './port.js'
import { collectSecrets } from './secrets.js'

export interface PreflightContext {
  readonly external?: External
  readonly secret: (reference: SecretReference) => string
  /** Whether the stack outlives its command; only then it has listeners. */
  readonly stays?: boolean
}

/**
 * What a start with this profile would fail of: secrets, certificates, ports, the socket and
 * the user of readers. Nothing is started for it. Paths in the profile are absolute.
 */
export async function preflight(
  profile: Profile,
  { external = {}, secret, stays = true }: PreflightContext,
): Promise<readonly Fault[]> {
  const { sources, backfill, alerts } = profile
  const parts = stays ? Object.values(profile) : [sources, backfill, alerts]
  const checks = [
    ...parts.map((part) => () => collectSecrets(part, secret)),
    ...parts.flatMap(trustChecks),
    () => externalRedis(external),
    () => checkReader(profile, external, stays),
    ...(stays ? listenerChecks(profile) : []),
  ]
  return (await Promise.all(checks.map(faultOf))).flat()
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

function listenerChecks(profile: Profile): readonly (() => unknown)[] {
  const { socket } = profile.gateway?.listen ?? {}
  return [
    ...certificateChecks(profile),
    () => checkPortsDiffer(profile),
    ...(socket === undefined ? [] : [() => checkSocketPath(socket)]),
    ...listeners(profile).map((at) => () => checkPort(at)),
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

/** How the files are read that settings of these names, in any section, refer to. */
const trustReaders: Readonly<Record<string, (value: never) => unknown>> = {
  caFile: readAuthorities,
  clientCertificate: readPair,
  certFiles: (paths: readonly string[]) => paths.map(readKeyFile),
}

/** Of the certificates by which a part of the profile trusts servers, or shows itself to them. */
function trustChecks(part: unknown): readonly (() => unknown)[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) => {
    const read = trustReaders[name]
    if (read === undefined || value === undefined) return trustChecks(value)
    return [() => read(value as never)]
  })
}

interface Listener {
  readonly setting: string
  readonly host: string
  readonly port: number
}

/** Ports that the profile names. Port 0 cannot be taken. */
function listeners({ gateway, worker }: Profile): readonly Listener[] {
  const of = [
    [gateway?.listen?.socket === undefined ? gateway?.listen : undefined, 'gateway.listen'],
    [gateway?.mutual, 'gateway.mutual'],
    [gateway?.operations, 'gateway.operations'],
    [worker.operations, 'worker.operations'],
  ] as const
  return of.flatMap(([at, setting]) => {
    const { host = '', port = 0 } = at ?? {}
    return port === 0 ? [] : [{ setting, host, port }]
  })
}

const anyHost = /^(0\.0\.0\.0|::)?$/

function checkPortsDiffer(profile: Profile): void {
  const all = listeners(profile)
  for (const [at, one] of all.entries()) {
    const isSame = ({ host, port }: Listener) =>
      port === one.port && (host === one.host || anyHost.test(host) || anyHost.test(one.host))
    const other = all.slice(0, at).find(isSame)
    if (other === undefined) continue
    const detail = `${other.setting} and ${one.setting} both listen on port ${one.port}; give each its own`
    throw new Fault('PROFILE', detail)
  }
}

async function checkPort({ setting, host, port }: Listener): Promise<void> {
  const code = await whyTaken({ host, port })
  if (code === undefined) return
  const detail = `${setting}: cannot listen on ${host}:${port} (${code})`
  const remedy = 'choose another port in the profile, or stop the program that uses it'
  throw new Fault('PORT_TAKEN', `${detail}; ${remedy}`)
}
