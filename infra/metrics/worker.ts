import { freeBytes } from '../../pipeline/files/disk.js'
import type { SystemFailure } from '../../pipeline/ledger/systems.js'
import { createQueues, type Queues } from '../../pipeline/queues/bullmq.js'
import type { JobName } from '../../pipeline/queues/jobs.js'
import { createStore, type StoreAddress } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Scrape } from '../telemetry/health.js'
import { type Collector, collect, keepFor, silentMsMax } from './collect.js'
import { setFailures } from './gateway.js'
import { readCycles, readLedger } from './ledger.js'
import { createRegistry, type MetricSample, sample } from './registry.js'

export interface WorkerMetricsOptions {
  readonly profile: Profile
  readonly redisUrl: string
  readonly store: StoreAddress
  readonly landing: string
  /** Systems that fail and are called by the worker. */
  readonly systems: () => readonly SystemFailure[]
  /** Called with the reason when a metric could not be collected. */
  readonly onFailure: (error: unknown) => void
}

export interface WorkerMetrics {
  done(step: JobName, ms: number): void
  failed(error: unknown): void
  /** Faults while ClickHouse or Redis does not answer. */
  ready(): Promise<void>
  readonly scrape: Scrape
  close(): Promise<void>
}

/** How long results of ClickHouse are cached, however many scrape. */
const ledgerMs = 5_000
const cyclesMs = 300_000

/**
 * The metrics of the worker's process. A scrape costs Redis two commands for each queue. ClickHouse
 * runs at most two queries every 5 seconds and one more every 5 minutes, each bounded in `ledger.ts`.
 * Without an answer in time their metrics are missing, and `tieline_store_up` or `tieline_queue_up` is 0.
 */
export function createWorkerMetrics(options: WorkerMetricsOptions): WorkerMetrics {
  const { profile, redisUrl, landing } = options
  const metrics = createRegistry('worker')
  const store = createStore(options.store, 'discreet', { silentMsMax })
  const queues = createQueues({ redisUrl, prefix: profile.database })
  const collectors: readonly Collector[] = [
    {
      names: [
        'tieline_files',
        'tieline_oldest_file_seconds',
        'tieline_rows',
        'tieline_quantity',
        'tieline_damage',
        'tieline_verified_timestamp_seconds',
        'tieline_newest_interval_timestamp_seconds',
      ],
      up: 'tieline_store_up',
      read: keepFor(ledgerMs, () => readLedger(store, profile)),
    },
    {
      names: ['tieline_cycle_newest_interval_timestamp_seconds'],
      read: keepFor(cyclesMs, () => readCycles(store)),
    },
    {
      names: ['tieline_queue_jobs', 'tieline_queue_oldest_seconds'],
      up: 'tieline_queue_up',
      read: () => readQueues(queues),
    },
    { names: ['tieline_disk_free_bytes'], read: () => readDisk(landing) },
  ]
  return {
    done: (step, ms) => metrics.observe('tieline_step_seconds', { step }, ms / 1_000),
    failed: metrics.failed,
    ready: async () => {
      await store.rows({ sql: sql`SELECT 1` })
      await queues.counts()
    },
    scrape: {
      type: metrics.type,
      text: async () => {
        setFailures(metrics, options.systems(), ['mdm'])
        await Promise.all(
          collectors.map((collector) => collect(collector, metrics, options.onFailure)),
        )
        return metrics.text()
      },
    },
    close: async () => {
      await queues.close()
      await store.close()
    },
  }
}

async function readQueues(queues: Queues): Promise<readonly MetricSample[]> {
  const [counts, oldest] = await Promise.all([queues.counts(), queues.oldest()])
  const now = Date.now()
  return Object.entries(counts).flatMap(([queue, states]) => {
    const since = oldest[queue as JobName] ?? now
    return [
      sample('tieline_queue_oldest_seconds', { queue }, Math.max(0, now - since) / 1_000),
      ...Object.entries(states).map(([state, jobs]) =>
        sample('tieline_queue_jobs', { queue, state }, jobs),
      ),
    ]
  })
}

async function readDisk(path: string): Promise<readonly MetricSample[]> {
  return [sample('tieline_disk_free_bytes', {}, await freeBytes(path))]
}
