import { createStore, type StoreAddress } from '../../pipeline/store/clickhouse.js'
import {
  billsQuerySchema,
  changesQuerySchema,
  usageQuerySchema,
} from '../../schemas/gateway/reads.js'
import type { ReadsSettings } from '../../schemas/gateway/reads-settings.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'
import type { Tracer } from '../../schemas/tracer.js'
import { createAccounts } from '../access/basic-auth.js'
import { createConnectRoutes, type SharedUsage } from '../connect/connect.js'
import type { Route } from '../route.js'
import { readOwnBills } from './bills.js'
import { type ChangesContext, readChanges } from './changes.js'
import { createDownloads, createFeedRoute, type OpenFeed } from './feed.js'
import { createForCustomer, type ForCustomerOptions } from './for-customer.js'
import { withQuery } from './reading.js'
import { createReadSource } from './source.js'
import { readUsage } from './usage/usage.js'

export interface ReadsOptions {
  readonly profile: Profile
  readonly reader: StoreAddress
  readonly tracer: Tracer | undefined
  readonly openFeed: OpenFeed
  readonly sharedUsage: SharedUsage
  readonly catchUp: ChangesContext['catchUp']
}

/** The routes that read, with a connection of their own as the store's reader. */
export function createReadRoutes(
  { profile, reader, tracer, openFeed, sharedUsage, catchUp }: ReadsOptions,
  authorization: Omit<ForCustomerOptions, 'perCustomerMax'>,
): { readonly routes: readonly Route[]; close(): Promise<void> } {
  const { reads } = profile
  if (reads === undefined) return { routes: [], close: async () => undefined }
  const store = createStore(reader, 'discreet', {
    tracer,
    silentMsMax: 2 * reads.secondsMax * 1_000,
  })
  const source = createReadSource(store, reads)
  const context = {
    ...reads,
    source,
    catchUp,
    zone: createZone(profile.timeZone),
    periodClock: profile.billing.periodClock,
    units: profile.usage.unit,
    now: () => new Date(),
  }
  const forCustomer = createForCustomer({ ...authorization, perCustomerMax: reads.perCustomerMax })
  const get = { method: 'GET', access: 'bearer' } as const
  const usage = withQuery(usageQuerySchema, (clientId, query) =>
    readUsage(context, clientId, query),
  )
  const download = createDownloads(reads)
  const feed = createFeedRoute({ ...context, openFeed, download })
  const bills = withQuery(billsQuerySchema, (clientId, query) =>
    readOwnBills(context, clientId, query),
  )
  return {
    routes: [
      { ...get, name: 'usage', path: '/gateway/usage', run: forCustomer(usage) },
      { ...get, name: 'bills', path: '/gateway/bills', run: forCustomer(bills) },
      { ...get, name: 'green-button', path: '/gateway/green-button', run: forCustomer(feed) },
      ...(reads.users === undefined ? [] : [changesRoute(context, reads.users)]),
      ...(reads.connect === undefined
        ? []
        : createConnectRoutes({ ...context, sharedUsage, download }, authorization)),
    ],
    close: () => store.close(),
  }
}

/**
 * Pulled by the platform with a client certificate and an account of its own: it names customers of the
 * whole utility, so neither a customer's token nor the right to bind is enough.
 */
function changesRoute(context: ChangesContext, users: NonNullable<ReadsSettings['users']>): Route {
  const accountOf = createAccounts({ users })
  const read = withQuery(changesQuerySchema, (_, query) => readChanges(context, query))
  return {
    name: 'changes',
    method: 'GET',
    path: '/gateway/changes',
    access: 'mutual',
    run: async (request) => {
      const who = await accountOf(request)
      if (who === undefined) {
        return { kind: 'denied', denial: 'token', reason: 'basic authentication' }
      }
      return read(who, request)
    },
  }
}
