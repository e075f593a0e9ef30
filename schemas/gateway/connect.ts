import { z } from 'zod'
import { secretReference } from '../settings/secret.js'
import { serverUrl } from '../settings/server-url.js'
import { strict } from '../strict.js'
import { type EspiScope, isEspiScope, readEspiScope } from './espi-scope.js'

/** The path of all resources, which ESPI fixes. */
export const espiRoot = '/espi/1_1/resource'

/** What a customer shares with one application of a third party. */
export interface Subscription {
  readonly clientId: string
  /** The `client_id` of the application. */
  readonly application: string
  readonly scope: EspiScope
}

/** What the resource ApplicationInformation says of an application; limits are those of ESPI 4.0. */
const application = strict({
  /** The `client_id` that the identity provider has for it. */
  clientId: z.string().min(1).max(64),
  name: z.string().min(1).max(256),
  redirectUris: z.array(serverUrl).min(1, 'name at least one address').max(20).readonly(),
  notifyUri: serverUrl,
  softwareId: z.string().min(1).max(256),
  softwareVersion: z.string().min(1).max(32),
  /** Since when the identity provider knows it. */
  issuedOn: z.iso.date('use a day, YYYY-MM-DD'),
  /** What it may request. */
  scope: z
    .string()
    .max(256)
    .refine((text) => isEspiScope(text) && readEspiScope(text) !== undefined, {
      error: 'use a scope of ESPI, such as FB=4_5_15;HistoryLength=34128000',
    }),
})
export type ConnectApplication = z.output<typeof application>

/** Green Button Connect My Data: which applications of third parties may read. */
export const connectSettings = strict({
  /** The utility's name for third parties. */
  dataCustodianId: z.string().min(1).max(64),
  /** The address by which third parties reach the gateway. */
  url: serverUrl,
  /** Makes identifiers of customers unguessable; with another secret every resource has another address. */
  idSecret: secretReference,
  authorizationEndpoint: serverUrl,
  tokenEndpoint: serverUrl,
  applications: z
    .array(application)
    .min(1, 'name at least one application')
    .max(1_000)
    .refine((all) => new Set(all.map(({ clientId }) => clientId)).size === all.length, {
      error: 'name each clientId once',
    })
    .readonly(),
})
export type ConnectSettings = z.output<typeof connectSettings>

const instant = z.iso.datetime({ offset: true, error: 'use an instant, 2026-01-31T00:00:00Z' })
const bound = (description: string) => instant.describe(description).optional()

/** When entries became visible first (published) and last (updated); both bounds are included. */
export const windowQuerySchema = z.strictObject({
  'published-min': bound('Only entries that were published at this instant or later'),
  'published-max': bound('Only entries that were published at this instant or earlier'),
  'updated-min': bound('Only entries that were updated at this instant or later'),
  'updated-max': bound('Only entries that were updated at this instant or earlier'),
})
type WindowQuery = z.output<typeof windowQuerySchema>

/** When something became visible first and last: epoch seconds, both bounds of each included. */
export interface Window {
  readonly published: Bounds
  readonly updated: Bounds
}
type Bounds = readonly [from: number, to: number]

/** 2106-02-07: the last instant of 32 bits. */
const lastInstant = 2 ** 32 - 1

/** Instants of a feed are whole seconds, so fractions make a window smaller. */
export function windowOf(query: WindowQuery): Window {
  const bounds = (min: string | undefined, max: string | undefined): Bounds => [
    within(Math.ceil(Date.parse(min ?? '1970-01-01T00:00:00Z') / 1_000)),
    max === undefined ? lastInstant : within(Math.floor(Date.parse(max) / 1_000)),
  ]
  return {
    published: bounds(query['published-min'], query['published-max']),
    updated: bounds(query['updated-min'], query['updated-max']),
  }
}

const within = (seconds: number) => Math.min(Math.max(seconds, 0), lastInstant)

/** Resources without parameters. */
export const noQuerySchema = z.strictObject({})
