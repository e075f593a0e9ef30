import type { GatewayFigures } from '../../api/gateway.js'
import type { RequestEntry } from '../../api/handle.js'
import type { Scrape } from '../telemetry/health.js'
import { tellBuild } from './build.js'
import { failureCode, unexpected } from './failure-code.js'
import { createRegistry, type Metrics } from './registry.js'

export interface GatewayMetrics {
  answered(entry: RequestEntry): void
  failed(error: unknown): void
  readonly scrape: Scrape
}

/** The metrics of the gateway's process; a scrape asks nobody outside of it. */
export function createGatewayMetrics(figures: () => GatewayFigures): GatewayMetrics {
  const metrics = createRegistry('gateway')
  tellBuild(metrics)
  metrics.total('tieline_failures_total', { code: unexpected }, 0)
  return {
    answered: ({ route, status, errorCode, ms }) => {
      const labels = { route, status: String(status), error_code: String(errorCode ?? '') }
      metrics.add('tieline_requests_total', labels)
      metrics.observe('tieline_request_seconds', { route }, ms / 1_000)
    },
    failed: (error) => metrics.add('tieline_failures_total', { code: failureCode(error) }),
    scrape: {
      type: metrics.type,
      text: () => {
        tellFigures(metrics, figures())
        return metrics.text()
      },
    },
  }
}

function tellFigures(metrics: Metrics, { identity, cis, amiFailures }: GatewayFigures): void {
  const { hits, misses } = identity.cache
  metrics.total('tieline_token_cache_total', { outcome: 'hit' }, hits)
  metrics.total('tieline_token_cache_total', { outcome: 'miss' }, misses)
  for (const { issuer, fetchedAt } of identity.keys) {
    metrics.set('tieline_keys_fetched_timestamp_seconds', { issuer }, fetchedAt / 1_000)
  }
  metrics.set('tieline_breaker_open', { system: 'cis' }, Number(cis.isOpen))
  metrics.set('tieline_failures_in_a_row', { system: 'cis' }, cis.failures)
  if (amiFailures !== undefined) {
    metrics.set('tieline_failures_in_a_row', { system: 'ami' }, amiFailures)
  }
}
