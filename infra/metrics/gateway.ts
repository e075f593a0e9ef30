import type { GatewayFigures } from '../../api/gateway.js'
import type { RequestEntry } from '../../api/handle.js'
import { type SystemFailure, systemKind } from '../../pipeline/ledger/systems.js'
import type { Scrape } from '../telemetry/health.js'
import { createRegistry, type Metrics } from './registry.js'

export interface GatewayMetrics {
  answered(entry: RequestEntry): void
  failed(error: unknown): void
  readonly scrape: Scrape
}

/** The metrics of the gateway's process; a scrape makes no request outside of it. */
export function createGatewayMetrics(figures: () => GatewayFigures): GatewayMetrics {
  const metrics = createRegistry('gateway')
  return {
    answered: (entry) => countRequest(metrics, entry),
    failed: metrics.failed,
    scrape: {
      type: metrics.type,
      text: () => {
        setFigures(metrics, figures())
        return metrics.text()
      },
    },
  }
}

/** Counts a request. Its reason is a label, so `reasonDetail`, which a client chooses, is not. */
export function countRequest(
  metrics: Metrics,
  { route, status, errorCode, reason, ms }: RequestEntry,
): void {
  if (errorCode === 1 && reason !== undefined) {
    metrics.add('tieline_tokens_refused_total', { reason })
  }
  const labels = { route, status: String(status), error_code: String(errorCode ?? '') }
  metrics.add('tieline_requests_total', labels)
  metrics.observe('tieline_request_seconds', { route }, ms / 1_000)
}

function setFigures(metrics: Metrics, figures: GatewayFigures): void {
  const { identity, cis, records, systems } = figures
  const { hits, misses } = identity.cache
  metrics.total('tieline_token_cache_total', { outcome: 'hit' }, hits)
  metrics.total('tieline_token_cache_total', { outcome: 'miss' }, misses)
  for (const { issuer, fetchedAt } of identity.keys) {
    metrics.set('tieline_keys_fetched_timestamp_seconds', { issuer }, fetchedAt / 1_000)
  }
  for (const [part, count] of Object.entries(records.omitted)) {
    metrics.total('tieline_cis_omitted_total', { part }, count)
  }
  for (const { field, kind, count } of records.invalid) {
    metrics.total('tieline_cis_invalid_total', { field, kind }, count)
  }
  metrics.set('tieline_breaker_open', { system: 'cis' }, Number(cis.isOpen))
  setFailures(metrics, systems, ['cis', 'ami', 'identity'])
}

/** Providers count together; a system that does not fail has 0. */
export function setFailures(
  metrics: Metrics,
  failing: readonly SystemFailure[],
  systems: readonly string[],
): void {
  for (const system of systems) {
    const own = failing.filter((one) => systemKind(one) === system)
    const failures = own.reduce((sum, one) => sum + one.failures, 0)
    metrics.set('tieline_failures_in_a_row', { system }, failures)
    const since = Math.min(...own.map((one) => one.since.getTime()))
    const seconds = own.length === 0 ? 0 : since / 1_000
    metrics.set('tieline_failing_since_timestamp_seconds', { system }, seconds)
  }
}
