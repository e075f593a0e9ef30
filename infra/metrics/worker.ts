import { freeBytes } from '../../pipeline/files/disk.js'
import { createQueues, type Queues } from '../../pipeline/queues/bullmq.js'
import type { JobName } from '../../pipeline/queues/jobs.js'
import { createStore, type StoreAddress } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Scrape } from '../telemetry/health.js'
import { tellBuild } from './build.js'
import { failureCode, unexpected } from './failure-code.js'
import { readCycles, readLedger } from './ledger.js'
import { createLook, keepFor, silentMsMax } from './look.js'
import { createRegistry } from './registry.js'
import { type Sample, sample } from './sample.js'

export interface WorkerMetricsOptions {
  readonly profile: Profile
  readonly redisUrl: string
  /** Who may read only. */
  readonly reader: StoreAddress
  readonly landing: string
  /** Hears why something could not be told. */
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

/** What ClickHouse said is told again for so long, whoever scrapes how often. */
const ledgerMs = 5_000
const cyclesMs = 300_000

/**
 * The metrics of the worker's process. A scrape costs Redis two commands for each queue. ClickHouse
 * is asked two questions every 5 seconds and one more every 5 minutes at the most, each bounded in
 * `ledger.ts`. What either does not tell in time is left out, and said to be.
 */
export function createWorkerMetrics(options: WorkerMetricsOptions): WorkerMetrics {
  const { profile, reader, redisUrl, landing } = options
  const metrics = createRegistry('worker')
  tellBuild(metrics)
  metrics.total('tieline_failures_total', { code: unexpected }, 0)
  const store = createStore(reader, 'discreet', { silentMsMax })
  const queues = createQueues({ redisUrl, prefix: profile.database })
  const look = createLook(metrics, options.onFailure)
  const looks = [
    look({
      names: [
        'tieline_files',
        'tieline_oldest_file_seconds',
        'tieline_rows',
        'tieline_quantity',
        'tieline_newest_interval_timestamp_seconds',
      ],
      up: 'tieline_store_up',
      read: keepFor(ledgerMs, () => readLedger(store, profile)),
    }),
    look({
      names: ['tieline_cycle_newest_interval_timestamp_seconds'],
      read: keepFor(cyclesMs, () => readCycles(store)),
    }),
    look({
      names: ['tieline_queue_jobs', 'tieline_queue_oldest_seconds'],
      up: 'tieline_queue_up',
      read: () => readQueues(queues),
    }),
    look({ names: ['tieline_disk_free_bytes'], read: () => readDisk(landing) }),
  ]
  return {
    done: (step, ms) => metrics.observe('tieline_step_seconds', { step }, ms / 1_000),
    failed: (error) => metrics.add('tieline_failures_total', { code: failureCode(error) }),
    ready: async () => {
      await store.rows({ sql: 'SELECT 1' })
      await queues.counts()
    },
    scrape: {
      type: metrics.type,
      text: async () => {
        await Promise.all(looks.map((take) => take()))
        return metrics.text()
      },
    },
    close: async () => {
      await queues.close()
      await store.close()
    },
  }
}

async function readQueues(queues: Queues): Promise<readonly Sample[]> {
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

async function readDisk(path: string): Promise<readonly Sample[]> {
  return [sample('tieline_disk_free_bytes', {}, await freeBytes(path))]
}
