import { espiRoot, type Window, windowOf } from '../../schemas/gateway/connect.js'
import {
  commodityBlocks,
  type EspiScope,
  functionBlocks,
} from '../../schemas/gateway/espi-scope.js'
import type { PeriodBill } from './bills.js'
import { toUuid, type Visible } from './entry.js'
import type { Series } from './reads.js'

/** Which part of a client's usage a feed has, and under which addresses. */
export interface Share {
  /** The utility and the client, for the hashes of addresses. */
  readonly owner: readonly [utility: string, clientId: string]
  /** The path above the usage points. */
  readonly parent: string
  readonly feedId: string
  /** The path of the feed itself, where it has one. */
  readonly self?: string
  /** What it may contain; undefined for everything. */
  readonly scope?: EspiScope
  readonly window: Window
}

/** Without bounds. */
export const always: Window = windowOf({})

/** Everything that a client has in some days. */
export function shareAll(
  owner: Share['owner'],
  { from, to }: { readonly from: string; readonly to: string },
): Share {
  const parent = `${espiRoot}/RetailCustomer/${toUuid('customer', ...owner)}`
  return { owner, parent, feedId: toUuid('feed', ...owner, from, to), window: always }
}

/** Whether the data of a function block are shared. */
export function shares({ scope }: Share, block: keyof typeof functionBlocks): boolean {
  return scope === undefined || scope.functions.has(functionBlocks[block])
}

/** Whether meters of a commodity are shared. */
export function sharesCommodity({ scope }: Share, commodity: string): boolean {
  const named = Object.entries(commodityBlocks).filter(([, blocks]) =>
    blocks.some((block) => scope?.functions.has(block)),
  )
  return named.length === 0 || named.some(([name]) => name === commodity)
}

/** Whether the intervals of a series are shared. */
export function sharesIntervals(share: Share, { seconds }: Pick<Series, 'seconds'>): boolean {
  return shares(share, 'intervals') && share.scope?.lengths?.has(seconds) !== false
}

/** Whether bills are shared, with or without dollars. */
export function sharesBills(share: Share): boolean {
  return shares(share, 'bills') || shares(share, 'billCosts')
}

/** The bills that are shared: with their dollars only if the scope has these. */
export function sharedBills(share: Share, bills: readonly PeriodBill[]): readonly PeriodBill[] {
  if (!sharesBills(share)) return []
  return bills
    .filter(({ commodity }) => sharesCommodity(share, commodity))
    .filter(({ publishedAt }) => isWithin(share.window, { first: publishedAt, last: publishedAt }))
    .map((bill) =>
      shares(share, 'billCosts') ? bill : { ...bill, total: null, additional: null, details: [] },
    )
}

/** Whether something became visible in a window. */
export function isWithin({ published, updated }: Window, { first, last }: Visible): boolean {
  return published[0] <= first && first <= published[1] && updated[0] <= last && last <= updated[1]
}
