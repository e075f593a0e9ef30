import type { Test } from 'tap'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { createCustomer } from '../../pipeline/green-button/rig.js'
import { createProvider, type OpenIdProvider } from '../identity/provider.js'
import { createRig, people, type Rig } from '../rig.js'

/** Scopes that the provider grants: everything, and parts of it. */
export const scopes = {
  all: 'FB=1_3_4_5_10_12_13_14_15_16_19_37;IntervalDuration=900_86400;BlockDuration=daily;HistoryLength=3153600000',
  intervals: 'FB=3_4',
  gas: 'FB=3_4_10;HistoryLength=3153600000',
  daily: 'FB=3_4;IntervalDuration=daily',
  costs: 'FB=3_4_12',
  billed: 'FB=3_4_15',
  bills: 'FB=3_15',
  recent: 'FB=3_4_16;HistoryLength=0',
  wrong: 'FB=all',
  registration: 'FB=36_40',
} as const

export const application = {
  clientId: 'app',
  name: 'Kilowatts & <Co>',
  redirectUris: ['https://app.example.com/back', 'https://app.example.com/other'],
  notifyUri: 'https://app.example.com/espi/1_1/Notification',
  softwareId: 'kilowatts',
  softwareVersion: '1.0',
  issuedOn: '2026-01-01',
  scope: scopes.gas,
}

export const connect = {
  dataCustodianId: 'Demo Electric',
  url: 'https://data.example.com/',
  idSecret: { env: 'CONNECT_SECRET' },
  authorizationEndpoint: 'https://login.example.com/auth',
  tokenEndpoint: 'https://login.example.com/token',
  applications: [application, { ...application, clientId: 'gateway', name: 'Itself' }],
}

export interface ConnectRig extends Rig {
  readonly provider: OpenIdProvider
  get(path: string, token?: string): Promise<Response>
}

/** Three meters with reads and bills of January. */
async function readJanuary(store: Store, t: Test): Promise<void> {
  await createCustomer(t, { store, clientId: people.active })
}

/** A gateway with Connect My Data, over an OpenID provider and a customer with reads. */
export async function createConnectRig(
  t: Test,
  read: (store: Store, t: Test) => Promise<void> = readJanuary,
): Promise<ConnectRig> {
  const provider = await createProvider(Object.values(scopes))
  t.teardown(provider.stop)
  const rig = await createRig(t, {
    profile: { reads: { secondsMax: 60, waitMsMax: 60_000, daysMax: 36_500, connect } },
    identity: {
      claim: ['utility', 'partner'],
      issuers: [{ issuer: provider.issuer, audience: 'tieline' }],
      clockToleranceSeconds: 0,
    },
  })
  await read(rig.store, t)
  return {
    ...rig,
    provider,
    get: (path, token) =>
      fetch(`${rig.url}/espi/1_1/resource/${path}`, {
        headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      }),
  }
}
