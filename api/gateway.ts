import { randomBytes } from 'node:crypto'
import { withDeadline } from '../pipeline/deadline.js'
import { createSystems, type SystemFailure, type Systems } from '../pipeline/ledger/systems.js'
import { createQueues } from '../pipeline/queues/bullmq.js'
import type { Tracing } from '../pipeline/queues/tracing.js'
import { createStore, type Store, type StoreAddress } from '../pipeline/store/clickhouse.js'
import { createCatchUp } from '../pipeline/store/replicas.js'
import { Fault } from '../schemas/fault.js'
import type { Intake } from '../schemas/settings/intake.js'
import type { Profile } from '../schemas/settings/profile.js'
import type { SecretReference } from '../schemas/settings/secret.js'
import { createCustomers, type RecordFigures } from './access/account-status.js'
import { createAttempts } from './access/attempts.js'
import { createAccounts } from './access/basic-auth.js'
import { createLocks } from './access/locks.js'
import { createPseudonymizer } from './access/pseudonym.js'
import { createAmi } from './ami/drivers.js'
import { createActions } from './bind/actions.js'
import { createBindAudit } from './bind/audit.js'
import { createBind, createBindOutcome } from './bind/bind.js'
import { createCis } from './cis/drivers.js'
import { type GuardedCis, guardCis } from './cis/guard.js'
import type { SharedUsage } from './connect/connect.js'
import { createHandling, type RequestEntry } from './handle.js'
import { createIdentity } from './identity/drivers.js'
import type { IdentityFigures } from './identity/identity.js'
import { createHttpsListener } from './listeners/https.js'
import type { Listener } from './listeners/listener.js'
import { createRenewal } from './listeners/renewal.js'
import { createUwsListener } from './listeners/uws.js'
import type { OpenFeed } from './reads/feed.js'
import { createReadRoutes } from './reads/reads.js'
import { createRequestIds } from './request.js'
import type { Route } from './route.js'
import { createCustomer } from './routes/customer.js'
import { createLogin } from './routes/login.js'
import { createReferenceRoutes } from './routes/reference-routes.js'
import { createRegistrar } from './routes/register.js'
import { createIntakeRoutes } from './routes/upload.js'
import { callMsMax } from './utility-client.js'
import { watchAmi, watchCis } from './watched.js'

export interface GatewayOptions {
  readonly profile: Profile
  readonly store: StoreAddress
  /** The store's user who may select from the published views; for the section `reads`. */
  readonly reader: StoreAddress
  readonly redisUrl: string
  /** Key of the hashes of identifiers in logs and of tokens in counted attempts. */
  readonly key: string
  readonly secret: (reference: SecretReference) => string
  /** Receives files and rows; undefined if the profile does not accept any. */
  readonly intake?: Intake | undefined
  readonly openFeed: OpenFeed
  readonly sharedUsage: SharedUsage
  readonly tracing?: Tracing | undefined
  readonly onRequest: (entry: RequestEntry) => void
  /** Reports an external fault or a program error; `requestId` is empty outside of requests. */
  readonly onFailure: (error: unknown, requestId: string) => void
}

export interface Gateway {
  readonly listeners: readonly Listener[]
  /** Rejects while login and customer requests cannot be answered. */
  ready(): Promise<void>
  figures(): GatewayFigures
  close(): Promise<void>
}

/** State of a gateway's parts for metrics. */
export interface GatewayFigures {
  readonly identity: IdentityFigures
  readonly cis: ReturnType<GuardedCis['breaker']>
  readonly records: RecordFigures
  readonly systems: readonly SystemFailure[]
}

const locksMs = 5_000
const warmMsMax = 5_000

/** Creates the gateway of a profile and starts its listeners. Throws the faults of its parts. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { profile, onFailure } = options
  const { gateway } = profile
  if (gateway === undefined)
    throw new Fault('PROFILE', 'the section gateway is missing; add it to the profile')
  const parts = createParts(options)
  await warm(parts, onFailure)
  const handling = createHandling({
    routes: parts.routes,
    versions: gateway.versions,
    errorStyle: profile.errorStyle,
    unknownStatus: profile.login.unknown,
    answerMsMax: gateway.limits.answerMsMax,
    requestsInFlightMax: gateway.limits.requestsInFlightMax,
    log: options.onRequest,
    tracer: options.tracing?.tracer,
    onFailure,
  })
  const { limits, requestsPerSecondMax } = gateway
  const requestId = createRequestIds(randomBytes(6).toString('hex'))
  const isTraced = options.tracing !== undefined
  const shared = { ...handling, limits, requestsPerSecondMax, requestId, isTraced, onFailure }
  const listeners: Listener[] = []
  const renewals: { close(): void }[] = []
  const serve = (listener: Listener, tls: object | undefined) => {
    listeners.push(listener)
    const files = Object.values(tls ?? {}) as readonly string[]
    const everyMs = gateway.certificateSeconds * 1_000
    const onFault = (fault: Fault) => onFailure(fault, '')
    const renew = () => listener.renewCertificate()
    renewals.push(createRenewal({ renew, files, everyMs, onFailure: onFault }))
  }
  const close = async () => {
    for (const renewal of renewals) renewal.close()
    await Promise.all(listeners.map((listener) => listener.close()))
    await parts.close()
  }
  try {
    if (gateway.listen !== undefined && gateway.mutualTls === 'bind') {
      const { listen: settings } = gateway
      serve(await createUwsListener({ settings, ...shared }), settings.tls)
    }
    if (gateway.mutual !== undefined) {
      const { mutual: settings } = gateway
      const certificates = gateway.mutualTls === 'bind' ? 'optional' : 'required'
      serve(await createHttpsListener({ settings, certificates, ...shared }), settings.tls)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { listeners, ready: parts.ready, figures: parts.figures, close }
}

/** Reads keys and locks in advance; the gateway also starts while their servers are down. */
async function warm(parts: Parts, onFailure: GatewayOptions['onFailure']): Promise<void> {
  const ready = parts.ready().catch((error: unknown) => onFailure(error, ''))
  await withDeadline(ready, warmMsMax, () => undefined)
}

interface Parts {
  readonly routes: readonly Route[]
  ready(): Promise<void>
  figures(): GatewayFigures
  close(): Promise<void>
}

function createParts(options: GatewayOptions): Parts {
  const { profile, key, redisUrl, tracing, onFailure } = options
  const { gateway, identity: identitySettings, cis: cisSettings } = profile
  if (gateway === undefined || identitySettings === undefined || cisSettings === undefined) {
    throw new Fault('PROFILE', 'the section gateway needs the sections identity and cis')
  }
  const onFault = (fault: Fault) => onFailure(fault, '')
  const now = Date.now
  const storeOptions = { ...profile.store, tracer: tracing?.tracer }
  const store = createStore(options.store, 'discreet', storeOptions)
  const queues = createQueues({
    redisUrl,
    prefix: profile.database,
    telemetry: tracing?.telemetry,
  })
  const systems = createSystems({
    store,
    profile,
    kinds: ['cis', 'ami', 'identity'],
    onFailure: onFault,
  })
  const identity = createIdentity(identitySettings, {
    pseudonymize: createPseudonymizer(key),
    tokensCachedMax: gateway.limits.tokensCachedMax,
    secret: options.secret,
    now,
    onFailure: onFault,
    report: systems.report,
  })
  // A clock that is set back must not keep the breaker open, nor a status.
  const elapsed = () => performance.now()
  const cis = guardCis(createCis(cisSettings, options.secret), { ...cisSettings, now: elapsed })
  const customers = createCustomers({
    cis: watchCis(cis, systems),
    rules: cisSettings,
    closedStatuses: profile.closedStatuses,
    statusSeconds: cisSettings.statusSeconds,
    statusesMax: cisSettings.statusesMax,
    now: elapsed,
  })
  const locks = createLocks({ store, everyMs: locksMs, onFailure: onFault })
  const attempts = createAttempts({ store, key, now: () => new Date() })
  const { tokenBytesMax } = gateway.limits
  const counts = gateway.attempts === 'own'
  const third = profile.reads?.connect?.applications.map(({ clientId }) => clientId)
  const applications = third && new Set(third)
  const registrar = createRegistrar({ queues, onFailure: onFault })
  const authorization = {
    ...{ identity, attempts, locks, tokenBytesMax, customers, counts, applications },
    onClosed: registrar.end,
  }
  const binding = createBindParts(options, { store, systems })
  const reads = createReadRoutes(
    { ...options, tracer: tracing?.tracer, catchUp: createCatchUp(store) },
    { ...authorization, customers },
  )
  return {
    routes: [
      ...binding.routes,
      ...reads.routes,
      ...createUploadRoutes(options),
      ...createReferenceRoutes(profile),
      {
        name: 'login',
        method: 'POST',
        path: '/gateway/login',
        access: 'bearer',
        keepsCode: true,
        run: createLogin(authorization),
      },
      {
        name: 'customer',
        method: 'POST',
        path: '/gateway/customer',
        access: 'bearer',
        run: createCustomer({ ...authorization, registrar }),
      },
    ],
    ready: async () => {
      await Promise.all([identity.ready(), locks.ready()])
    },
    figures: () => ({
      identity: identity.figures(),
      cis: cis.breaker(),
      records: customers.figures(),
      systems: systems.failing(),
    }),
    close: async () => {
      await Promise.all([locks.close(), registrar.close(), systems.close()])
      await Promise.all([identity.close(), cis.close(), queues.close(), binding.close()])
      await reads.close()
      await store.close()
    },
  }
}

function createUploadRoutes({ profile, intake }: GatewayOptions): readonly Route[] {
  if (profile.intake === undefined || intake === undefined) return []
  return createIntakeRoutes({ intake, senderOf: createAccounts(profile.intake) })
}

/** Time between the claim of an action and the call to the head-end, at most. */
const claimMs = 5_000

function createBindParts(
  options: GatewayOptions,
  { store, systems }: { readonly store: Store; readonly systems: Systems },
): Pick<Parts, 'routes' | 'close'> {
  const { profile, key, onFailure } = options
  const { ami: amiSettings, bind } = profile
  if (amiSettings === undefined || bind === undefined) {
    return { routes: [], close: async () => undefined }
  }
  const ami = watchAmi(createAmi(amiSettings, options.secret), systems)
  const now = () => new Date()
  const binding = {
    ami,
    actions: createActions({ store, key, now }),
    rules: bind,
    accountOf: createAccounts(bind),
    audit: createBindAudit(store),
    pseudonymize: createPseudonymizer(key),
    inFlightMs: callMsMax(amiSettings) + claimMs,
    now,
    onWrongCrc: (requestId: string) => onFailure(wrongCrc(), requestId),
  }
  const post = { name: 'bind', method: 'POST', path: '/gateway/bind', access: 'mutual' } as const
  const get = { ...post, name: 'bind outcome', method: 'GET', path: '/gateway/bind/*' } as const
  return {
    routes: [
      { ...post, hidesDetail: true, run: createBind(binding) },
      { ...get, hidesDetail: true, run: createBindOutcome(binding) },
    ],
    close: () => ami.close(),
  }
}

function wrongCrc(): Fault {
  return new Fault('AMI_ANSWER', 'an install code has a wrong CRC; bind.installCodeCrc accepts it')
}
