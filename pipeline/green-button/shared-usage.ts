import type { Subscription, Window } from '../../schemas/gateway/connect.js'
import type { Profile, SecretReference } from '../../schemas/settings/profile.js'
import type { Zone } from '../../schemas/time/zone.js'
import { entryDocument } from './entry.js'
import { findUsage, type GreenButtonContext, usagePointsOf, writeFeed } from './feed.js'
import type { FeedStore } from './reads.js'
import { always, isWithin, type Share } from './share.js'
import {
  allowedDays,
  applicationDocument,
  applicationId,
  shareOf,
  subscriptionDocument,
  subscriptionFeed,
  subscriptionId,
  usagePointFeed,
} from './subscription.js'

export interface SharedUsageContext {
  readonly profile: Pick<Profile, 'database' | 'reads'>
  readonly zone: Zone
  readonly now: () => Date
  /** Of the profile's secrets; called once, if third parties may read. */
  readonly secret: (reference: SecretReference) => string
}

interface Wanted {
  readonly subscription: Subscription
  readonly window: Window
}

/** What customers share with applications of third parties, as Atom: the feed's own code, in parts. */
export function createSharedUsage({ profile, zone, now, secret }: SharedUsageContext) {
  const { database, reads } = profile
  const utility = JSON.stringify([database, reads?.connect && secret(reads.connect.idSecret)])
  const feedContext = (store: FeedStore): GreenButtonContext => ({ store, profile, zone, now })
  const find = (store: FeedStore, subscription: Subscription, share: Share) => {
    const days = allowedDays(subscription, { zone, now: now(), daysMax: reads?.daysMax ?? 1 })
    return findUsage(feedContext(store), { clientId: subscription.clientId, ...days }, share)
  }
  const pointsOf = async (store: FeedStore, subscription: Subscription) => {
    const share = shareOf(utility, subscription, always)
    return usagePointsOf(zone, await find(store, subscription, share))
  }
  return {
    applicationId: (application: string) => applicationId(utility, application),
    subscriptionId: (subscription: Subscription) => subscriptionId(utility, subscription),
    application: (application: string) => {
      const { connect } = reads ?? {}
      const found = connect?.applications.find(({ clientId }) => clientId === application)
      return connect && found && applicationDocument(utility, connect, found)
    },
    subscriptions: (subscription: Subscription) => subscriptionFeed(utility, subscription, now()),
    subscription: (subscription: Subscription) =>
      subscriptionDocument(utility, subscription, now()),
    usagePoints: async (store: FeedStore, { subscription, window }: Wanted) => {
      const points = await pointsOf(store, subscription)
      const entries = points
        .filter(({ visible }) => isWithin(window, visible))
        .map(({ entry }) => entry)
      return usagePointFeed({ utility, subscription, entries, at: now() })
    },
    usagePoint: async (store: FeedStore, subscription: Subscription, id: string) => {
      const points = await pointsOf(store, subscription)
      const found = points.find(({ paths }) => paths.self === `${paths.up}/${id}`)
      return found && entryDocument(found.entry)
    },
    batch: async (
      store: FeedStore,
      { subscription, window }: Wanted,
      beforePart: () => Promise<void>,
    ) => {
      const share = shareOf(utility, subscription, window)
      const found = await find(store, subscription, share)
      return writeFeed({ ...feedContext(store), beforePart }, found)
    },
  }
}
