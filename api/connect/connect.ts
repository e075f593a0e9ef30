import type { z } from 'zod'
import type { Store } from '../../pipeline/store/clickhouse.js'
import {
  espiRoot,
  noQuerySchema,
  type Subscription,
  type Window,
  windowOf,
  windowQuerySchema,
} from '../../schemas/gateway/connect.js'
import type { SendFeed } from '../reads/feed.js'
import { createInTurn, type ExpectAccess } from '../reads/for-customer.js'
import { type Reading, withQuery } from '../reads/reading.js'
import type { ReadSource } from '../reads/source.js'
import type { Route, RouteHandler } from '../route.js'
import { createThirdParties, type ThirdPartyOptions } from './third-party.js'

type Rows = Pick<Store, 'rows'>

interface Wanted {
  readonly subscription: Subscription
  readonly window: Window
}

/** What customers share with applications, as documents of Atom. Identifiers say nothing of whom they are for. */
export interface SharedUsage {
  applicationId(application: string): string
  subscriptionId(subscription: Subscription): string
  application(application: string): string | undefined
  subscriptions(subscription: Subscription): string
  subscription(subscription: Subscription): string
  usagePoints(store: Rows, wanted: Wanted): Promise<string>
  usagePoint(store: Rows, subscription: Subscription, id: string): Promise<string | undefined>
  /** In pieces; `beforePart` is called before the statements of each further one, and may end it. */
  batch(
    store: Rows,
    wanted: Wanted,
    beforePart: () => Promise<void>,
  ): Promise<AsyncIterable<string>>
}

export interface ConnectContext {
  readonly source: ReadSource
  readonly sharedUsage: SharedUsage
  readonly perCustomerMax: number
  readonly download: SendFeed
}

/** What the token of a request opens, and the identifiers in its path. */
interface Asked {
  readonly subscription: Subscription
  readonly ids: readonly string[]
}

type Read<Query> = (asked: Asked, query: Query, expectAccess: ExpectAccess) => Promise<Reading>

/**
 * The resources of Green Button Connect My Data. A token opens one subscription: any other is answered as one
 * that does not exist. What it may contain is decided by the scope of the token, with each request.
 */
export function createConnectRoutes(
  context: ConnectContext,
  options: ThirdPartyOptions,
): readonly Route[] {
  const { source, sharedUsage, download } = context
  const parties = createThirdParties(options)
  const inTurn = createInTurn(context.perCustomerMax)
  const serve = <S extends z.ZodObject>(schema: S, read: Read<z.output<S>>): RouteHandler => {
    const answer = withQuery(schema, read)
    return (request, { rest }) =>
      inTurn(
        () => parties.judge(request),
        (subscription, expectAccess) =>
          answer({ subscription, ids: rest.split('/') }, request, expectAccess),
      )
  }
  const serveOwn = <S extends z.ZodObject>(schema: S, read: Read<z.output<S>>): RouteHandler =>
    serve(schema, async (asked, query, expectAccess) => {
      const isOwn = asked.ids[0] === sharedUsage.subscriptionId(asked.subscription)
      return isOwn ? read(asked, query, expectAccess) : atom(undefined)
    })
  const none = noQuerySchema
  const get = { method: 'GET', access: 'bearer', isFixed: true } as const
  const at = (path: string) => ({ ...get, path: `${espiRoot}/${path}` })
  return [
    {
      ...at('ApplicationInformation/*'),
      name: 'espi application',
      run: createApplicationRoute(sharedUsage, parties.judgeApplication),
    },
    {
      ...at('Subscription'),
      name: 'espi subscriptions',
      run: serve(none, async ({ subscription }) => atom(sharedUsage.subscriptions(subscription))),
    },
    {
      ...at('Subscription/*'),
      name: 'espi subscription',
      run: serveOwn(none, async ({ subscription }) => atom(sharedUsage.subscription(subscription))),
    },
    {
      ...at('Subscription/*/UsagePoint'),
      name: 'espi usage points',
      run: serveOwn(windowQuerySchema, async ({ subscription }, query) =>
        atom(await sharedUsage.usagePoints(source, { subscription, window: windowOf(query) })),
      ),
    },
    {
      ...at('Subscription/*/UsagePoint/*'),
      name: 'espi usage point',
      run: serveOwn(none, async ({ subscription, ids: [, id = ''] }) =>
        atom(await sharedUsage.usagePoint(source, subscription, id)),
      ),
    },
    {
      ...at('Batch/Subscription/*'),
      name: 'espi batch',
      run: serveOwn(windowQuerySchema, ({ subscription }, query, expectAccess) => {
        const wanted = { subscription, window: windowOf(query) }
        return download(() => sharedUsage.batch(source, wanted, expectAccess))
      }),
    },
  ]
}

function createApplicationRoute(
  sharedUsage: SharedUsage,
  judge: ReturnType<typeof createThirdParties>['judgeApplication'],
): RouteHandler {
  const read = withQuery(noQuerySchema, async (application: string, _, id: string) =>
    atom(
      id === sharedUsage.applicationId(application)
        ? sharedUsage.application(application)
        : undefined,
    ),
  )
  return async (request, { rest }) => {
    const judged = await judge(request)
    return typeof judged === 'string' ? read(judged, request, rest) : judged
  }
}

const type = 'application/atom+xml; charset=utf-8'

const atom = (body: string | undefined): Reading =>
  body === undefined ? { kind: 'missing' } : { kind: 'found', body, type }
