import {
  type ConnectApplication,
  type ConnectSettings,
  espiRoot,
  type Subscription,
  type Window,
} from '../../schemas/gateway/connect.js'
import { addDays, dayAt, daySeconds, nextDay, type Zone } from '../../schemas/time/zone.js'
import { entry, entryDocument, feedHead, resource, toLines, toUuid } from './entry.js'
import type { Share } from './share.js'
import { element, type Xml } from './xml.js'

/**
 * The same for each token of one customer and application. `utility` has a secret in it, so that nobody can find a customer's
 * identifier by trying all of them.
 */
export function subscriptionId(utility: string, { clientId, application }: Subscription): string {
  return toUuid('subscription', utility, clientId, application)
}

/** Of the resource ApplicationInformation of an application, by its `client_id`. */
export function applicationId(utility: string, application: string): string {
  return toUuid('application', utility, application)
}

const applicationPath = (utility: string, application: string) =>
  `${applications}/${applicationId(utility, application)}`

const applications = `${espiRoot}/ApplicationInformation`
const collection = `${espiRoot}/Subscription`
const pathOf = (utility: string, subscription: Subscription) =>
  `${collection}/${subscriptionId(utility, subscription)}`
const batchOf = (utility: string, subscription: Subscription) =>
  `${espiRoot}/Batch/Subscription/${subscriptionId(utility, subscription)}`

/** What is shared by a subscription. */
export function shareOf(utility: string, subscription: Subscription, window: Window): Share {
  const { clientId, scope } = subscription
  const self = batchOf(utility, subscription)
  return {
    owner: [utility, clientId],
    parent: pathOf(utility, subscription),
    feedId: toUuid(self),
    self,
    scope,
    window,
  }
}

/** The local days of a subscription: its history until tomorrow, as the next day has begun elsewhere. */
export function allowedDays(
  { scope: { historySeconds } }: Subscription,
  { zone, now, daysMax }: { readonly zone: Zone; readonly now: Date; readonly daysMax: number },
): { readonly from: string; readonly to: string } {
  const to = nextDay(dayAt(zone, now))
  const days = Math.floor((historySeconds ?? Number.POSITIVE_INFINITY) / daySeconds)
  const storable = Math.floor(now.getTime() / 1_000 / daySeconds)
  // The range ends tomorrow, so it has one day more than the history.
  return { from: addDays(to, -Math.min(days + 1, daysMax - 1, storable - 1)), to }
}

/**
 * The entry of a subscription. ESPI 4.0 has no element for its content, which was always empty, so only its
 * links are written.
 */
function subscriptionEntry(utility: string, subscription: Subscription, at: Date): Xml {
  const self = pathOf(utility, subscription)
  const seconds = Math.floor(at.getTime() / 1_000)
  return entry({
    self,
    up: collection,
    related: [
      `${self}/UsagePoint`,
      batchOf(utility, subscription),
      applicationPath(utility, subscription.application),
    ],
    title: 'Subscription',
    visible: { first: seconds, last: seconds },
  })
}

export function subscriptionDocument(
  utility: string,
  subscription: Subscription,
  at: Date,
): string {
  return entryDocument(subscriptionEntry(utility, subscription, at))
}

/** The subscriptions of a token: there is one. By it a third party finds its address. */
export function subscriptionFeed(utility: string, subscription: Subscription, at: Date): string {
  return feedOf(collection, [subscriptionEntry(utility, subscription, at)], at)
}

/** The usage points of a subscription, without what they have. */
export function usagePointFeed({
  utility,
  subscription,
  entries,
  at,
}: {
  readonly utility: string
  readonly subscription: Subscription
  readonly entries: readonly Xml[]
  readonly at: Date
}): string {
  return feedOf(`${pathOf(utility, subscription)}/UsagePoint`, entries, at)
}

function feedOf(self: string, entries: readonly Xml[], at: Date): string {
  return `${feedHead(toUuid(self), at, self)}${toLines(entries)}</feed>\n`
}

/**
 * What the utility knows of an application. Its secrets are with the identity provider: the elements for them, which the
 * schema requires, are empty, as is the address for bulk transfers, which do not exist.
 */
export function applicationDocument(
  utility: string,
  settings: ConnectSettings,
  application: ConnectApplication,
): string {
  const self = applicationPath(utility, application.clientId)
  const issuedAt = Date.parse(application.issuedOn) / 1_000
  const url = settings.url.replace(/\/$/, '')
  const texts: readonly (readonly [string, string | number])[] = [
    ['dataCustodianId', settings.dataCustodianId],
    // Production.
    ['dataCustodianApplicationStatus', 2],
    ['thirdPartyNotifyUri', application.notifyUri],
    ['authorizationServerAuthorizationEndpoint', settings.authorizationEndpoint],
    ['authorizationServerTokenEndpoint', settings.tokenEndpoint],
    ['dataCustodianBulkRequestURI', ''],
    ['dataCustodianResourceEndpoint', `${url}${espiRoot}`],
    ['client_secret', ''],
    ['client_name', application.name],
    ...application.redirectUris.map((uri) => ['redirect_uri', uri] as const),
    ['client_id', application.clientId],
    ['software_id', application.softwareId],
    ['software_version', application.softwareVersion],
    ['client_id_issued_at', issuedAt],
    // It does not expire, as far as is known here.
    ['client_secret_expires_at', 0],
    ['token_endpoint_auth_method', 'client_secret_basic'],
    ['scope', application.scope],
    ...['authorization_code', 'refresh_token'].map((type) => ['grant_types', type] as const),
    ['response_types', 'code'],
    ['registration_client_uri', `${url}${self}`],
    ['registration_access_token', ''],
  ]
  return entryDocument(
    entry({
      self,
      up: applications,
      title: application.name,
      visible: { first: issuedAt, last: issuedAt },
      content: resource(
        'ApplicationInformation',
        texts.map(([name, text]) => element(name, text)),
      ),
    }),
  )
}
