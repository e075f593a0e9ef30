import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { hashPassword } from '../../api/access/password.js'
import { createOfficeServer } from '../../infra/demo/back-office/server.js'
import { type Certificates, demoCertificates } from '../../infra/demo/certificates.js'
import { demoAccount, type OfficeOptions, type OfficeSystem } from '../../infra/demo/office.js'
import { openHome } from '../../infra/stack/home.js'
import { createChild } from '../../infra/stack/processes/child.js'
import { createGatewayProcess, type GatewayDetail } from '../../infra/stack/processes/programs.js'
import { startStack } from '../../infra/stack/stack.js'
import { createLog } from '../../infra/telemetry/log.js'
import { createQueues } from '../../pipeline/queues/bullmq.js'
import { parseProfile } from '../../schemas/settings/profile.js'
import { freePort } from '../../test/api/identity/provider.js'
import { acsUrl, entityId } from '../../test/api/identity/saml-provider.js'
import type { BenchServer } from './server-process.js'
import { people, signTokens } from './tokens.js'
import { type WrkFigures, type WrkOptions, wrk } from './wrk.js'

export type ServerName =
  | 'bare'
  | 'limit'
  | 'fastifyCold'
  | 'fastifyWarm'
  | 'warm'
  | 'cold'
  | 'listen'
  | 'mutual'

export interface GatewayRig {
  readonly urls: Readonly<Record<ServerName, string>>
  readonly scripts: Scripts
  readonly token: string
  readonly cisUrl: string
  /** Of a client and the authority of `listen` and `mutual`. */
  readonly certificates: Certificates
  /** Resolves when no customer waits to be registered. */
  settled(): Promise<void>
  /** Of the gateway that remembers tokens. */
  warmPid(): number | undefined
  close(): Promise<void>
}

/** Lua files for wrk. */
interface Scripts {
  /** One static request. */
  readonly same: string
  /** The same from each connection every 20 ms. */
  readonly paced: string
  /** A request with each token in turn, from a token anywhere on. */
  readonly each: string
  /** One such request from each connection, all at once, and no more. */
  readonly burst: string
}

const path = '/v1/gateway/login'
const settleMs = 500

/** Requests of a burst. */
export const burstCount = 2_000

/** Everything that is measured, each server a process of its own, on loopback. */
export async function createGatewayRig(
  tokenCount: number,
  /** PEM of a SAML provider, which the gateways then accept, too. */
  samlKey?: string,
): Promise<GatewayRig> {
  const folder = mkdtempSync(join(tmpdir(), 'tieline-bench-gateway-'))
  const samlFile = samlKey && join(folder, 'saml.pem')
  if (samlFile && samlKey) writeFileSync(samlFile, samlKey)
  const closers: (() => Promise<unknown>)[] = []
  const keys: object[] = []
  const idp = await createOfficeServer(0, () => ({ status: 200, body: { keys } }))
  closers.unshift(idp.close)
  const { jwk, pem, tokens } = await signTokens(idp.url, tokenCount)
  keys.push(jwk)
  const start = async (kind: BenchServer['kind']): Promise<string> => {
    const port = await freePort()
    const file = fileURLToPath(new URL('./server-process.js', import.meta.url))
    const child = fork(file, [JSON.stringify({ kind, port, issuer: idp.url, pem })])
    closers.unshift(async () => child.kill('SIGKILL'))
    await once(child, 'message')
    return `http://127.0.0.1:${port}${path}`
  }
  const certificates = demoCertificates(folder)
  const { gateway, cisUrl, settled } = await startGateways(
    { folder, certificates },
    closers,
    identityOf(idp.url, samlFile),
  )
  const warm = await gateway('warm')
  const cold = await gateway('cold')
  const secure = await gateway('secure')
  const urls = {
    bare: await start('bare'),
    limit: await start('limit'),
    fastifyCold: await start('fastifyCold'),
    fastifyWarm: await start('fastifyWarm'),
    warm: warm.urls[0] ?? '',
    cold: cold.urls[0] ?? '',
    listen: secure.urls[0] ?? '',
    mutual: secure.urls[1] ?? '',
  }
  return {
    urls,
    scripts: writeScripts(folder, tokens),
    token: tokens[0] ?? '',
    cisUrl,
    certificates,
    settled,
    warmPid: warm.pid,
    close: async () => {
      for (const close of closers) await close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** `warm` remembers tokens, `cold` none; `secure` is warm with TLS, on `listen` and on `mutual`, which binds, too. */
type GatewayKind = 'warm' | 'cold' | 'secure'

/** The store, the queue and the CIS that real gateways run with. */
async function startGateways(
  { folder, certificates }: { readonly folder: string; readonly certificates: Certificates },
  closers: (() => Promise<unknown>)[],
  identity: object,
) {
  const home = openHome(join(folder, 'data'))
  const office = async (system: OfficeSystem) => {
    const child = await startOfficeSystem(system, home.logs)
    closers.unshift(child.close)
    return child.detail()
  }
  const cisUrl = await office('cis')
  const passwordHash = await hashPassword(demoAccount.password)
  const bind = {
    ami: { kind: 'rest', url: await office('ami') },
    bind: { users: [{ name: demoAccount.name, passwordHash }] },
  }
  const profileOf = (kind: GatewayKind, ports: readonly number[]) =>
    parseProfile({
      companyCodes: ['BENCH'],
      timeZone: 'America/Detroit',
      gateway: {
        ...listenersOf(ports, kind === 'secure' ? certificates : undefined),
        operations: { port: 0 },
        requestsPerSecondMax: 10_000_000,
        limits: { tokensCachedMax: kind === 'cold' ? 0 : 100_000 },
      },
      identity,
      cis: { kind: 'rest', url: cisUrl, statusSeconds: 3_600 },
      ...(kind === 'secure' && bind),
    })
  const { gateway: _, ...pipeline } = profileOf('warm', [1])
  const log = createLog(join(home.logs, 'bench.log'), 'bench')
  const stack = await startStack({ home, profile: { ...pipeline, gateway: undefined }, log })
  closers.unshift(stack.close)
  const gateway = async (kind: GatewayKind) => {
    const ports = [await freePort(), await freePort()]
    const logsPath = join(folder, `gateway-${kind}`)
    const own = openHome(logsPath)
    const child = await createGatewayProcess({
      options: {
        profile: profileOf(kind, ports),
        store: stack.store,
        reader: stack.reader,
        redisUrl: stack.redisUrl,
        key: 'bench',
        requestLogPath: join(own.logs, 'requests.log'),
      },
      secret: () => '',
      logsPath: own.logs,
    })
    closers.unshift(child.close)
    const { addresses } = child.detail() as GatewayDetail
    return { urls: addresses.map((address) => `${address}${path}`), pid: child.pid }
  }
  const queues = createQueues({ redisUrl: stack.redisUrl, prefix: pipeline.database })
  closers.unshift(queues.close)
  const settled = async () => {
    const isBusy = async () => {
      const { active = 0, waiting = 0 } = (await queues.counts()).register
      return active + waiting > 0
    }
    do await sleep(settleMs)
    while (await isBusy())
  }
  return { gateway, cisUrl, settled }
}

function startOfficeSystem(system: OfficeSystem, logsPath: string) {
  return createChild<OfficeOptions, string>({
    name: system,
    program: 'back-office',
    options: { system, port: 0, ...people },
    logsPath,
    stopMsMax: 2_000,
  })
}

export function identityOf(issuer: string, samlFile?: string): object {
  const issuers = [{ issuer, audience: 'tieline', jwksUri: `${issuer}/jwks` }]
  const oidc = { kind: 'oidc', claim: 'sub', issuers }
  if (samlFile === undefined) return oidc
  const saml = { kind: 'saml', issuer: entityId, audience: 'tieline', recipient: acsUrl }
  return { kind: 'several', providers: [oidc, { ...saml, certFiles: [samlFile] }] }
}

function listenersOf([port, other]: readonly number[], files: Certificates | undefined) {
  if (files === undefined) return { listen: { port } }
  const tls = { certFile: files.certFile, keyFile: files.keyFile }
  return {
    listen: { port, tls },
    mutual: { port: other, tls: { ...tls, clientCaFile: files.caFile } },
  }
}

function writeScripts(folder: string, tokens: readonly string[]): Scripts {
  const list = join(folder, 'tokens')
  writeFileSync(list, tokens.join('\n'))
  const write = (name: keyof Scripts, text: string): string => {
    const file = join(folder, `${name}.lua`)
    writeFileSync(file, text)
    return file
  }
  const same = 'wrk.method = "POST"\n'
  const each = `math.randomseed(os.time())
local tokens = {}
for line in io.lines(${JSON.stringify(list)}) do tokens[#tokens + 1] = "Bearer " .. line end
local at = math.random(#tokens)
function request()
  at = at % #tokens + 1
  return wrk.format("POST", nil, { ["Authorization"] = tokens[at] })
end
`
  const once = `local sent = 0
function delay()
  sent = sent + 1
  return sent > ${burstCount} and 3600000 or 0
end
`
  return {
    same: write('same', same),
    paced: write('paced', `${same}function delay() return 20 end\n`),
    each: write('each', each),
    burst: write('burst', each + once),
  }
}

/** Logins of one customer, from each connection every 20 ms. */
export function pacedLogins(
  { urls, scripts, token }: GatewayRig,
  { connections, seconds }: Pick<WrkOptions, 'connections' | 'seconds'>,
): Promise<WrkFigures> {
  return wrk({ url: urls.warm, script: scripts.paced, token, connections, seconds })
}
