import type { Test } from 'tap'
import { createReadSource } from '../../../api/reads/source.js'
import { readUsage, type UsageContext } from '../../../api/reads/usage/usage.js'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { type UsageQuery, usageQuerySchema } from '../../../schemas/gateway/reads.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createZone } from '../../../schemas/time/zone.js'
import { timeZone } from '../../pipeline/bills/rig.js'
import { readerOf } from '../../pipeline/customers/registering.js'

/** A point as a client parses it. */
export interface Point {
  readonly start: string
  readonly end: string
  readonly localStart: string
  readonly quantity: number | null
  readonly unit: string | null
  readonly quality: string
  readonly reads: number
  readonly secondsMissing: number
  readonly cost: number | null
  readonly costStatus: string
  readonly costs: readonly {
    readonly kind: string
    readonly component: string
    readonly name: string
    readonly tier: number
    readonly cost: number
  }[]
}

export interface UsageAnswer {
  readonly publishedSeq: number
  readonly cursor: string | null
  readonly changed?: readonly { readonly start: string; readonly end: string }[]
  readonly points: readonly Point[]
}

/** What the gateway reads with, at an instant, over the reader's own connection. */
export function readingOf(t: Test, store: Store, more: Partial<UsageContext> = {}): UsageContext {
  const reader = createStore(readerOf(store), 'verbatim')
  t.teardown(() => reader.close())
  return readingBy(reader, more)
}

export function readingBy(reader: Store, more: Partial<UsageContext> = {}): UsageContext {
  const { reads, usage, billing } = parseProfile({
    companyCodes: ['DEMO'],
    timeZone,
    gateway: { listen: {} },
    identity: {
      kind: 'oidc',
      claim: 'sub',
      issuers: [{ issuer: 'https://idp.example', audience: 'a' }],
    },
    cis: { kind: 'rest', url: 'https://cis.example' },
    reads: { secondsMax: 60 },
  })
  if (reads === undefined) throw new Error('the profile has no section reads')
  const now = () => new Date('2026-04-01T12:00:00Z')
  const source = createReadSource(reader, reads)
  const clock = { zone: createZone(timeZone), periodClock: billing.periodClock }
  return { ...reads, ...clock, source, units: usage.unit, now, ...more }
}

/** One page of a customer's usage; fails where there is none. */
export async function usagePage(
  context: UsageContext,
  clientId: string,
  query: Partial<UsageQuery>,
): Promise<UsageAnswer> {
  const reading = await readUsage(context, clientId, usageQuerySchema.parse(query))
  if (reading.kind !== 'found') throw new Error(JSON.stringify(reading))
  return JSON.parse(reading.body) as UsageAnswer
}

/** All pages of a query, one after the other. */
export async function usagePages(
  context: UsageContext,
  clientId: string,
  query: Partial<UsageQuery>,
): Promise<readonly UsageAnswer[]> {
  const pages = [await usagePage(context, clientId, query)]
  for (let last = pages[0]; last?.cursor != null; last = pages.at(-1)) {
    pages.push(await usagePage(context, clientId, { ...query, cursor: last.cursor }))
  }
  return pages
}
