import { Queue } from 'bullmq'
import { createPanels } from '../infra/operations/panels.js'
import { createQueues } from '../pipeline/queues/bullmq.js'
import { createProducerConnection } from '../pipeline/queues/redis.js'
import { createStore } from '../pipeline/stores/clickhouse.js'
import { createZone } from '../schemas/zone.js'
import { createRig, type Rig } from './rig.js'
import { median } from './usage-figures.js'

export interface PageBenchOptions {
  readonly files: number
  readonly jobs: number
  readonly rounds: number
  readonly print: (line: string) => void
}

/** Figures of a page that is just opened should be there within a second. */
const msMax = 1_000
const jobsAtOnce = 5_000

/**
 * A ledger of a year and a crowded Redis: how long each panel of the operations page takes, alone and
 * all at once as when the page is opened, beside a bare count over the ledger.
 */
export async function page({ files, jobs, rounds, print }: PageBenchOptions): Promise<void> {
  const profile = { companyCodes: ['BENCH'], timeZone: 'America/Detroit' }
  const rig = await createRig({ name: 'page', profile, say: print })
  try {
    print(`estimate: first figures within ${msMax} ms with ${files} files and ${jobs} jobs`)
    await fillLedger(rig, files)
    await fillQueue(rig, jobs)
    await measure(rig, rounds, print)
  } finally {
    await rig.close()
  }
}

async function measure(rig: Rig, rounds: number, print: (line: string) => void): Promise<void> {
  const { profile, stack, home } = rig
  const store = createStore(stack.reader)
  const queues = createQueues({ redisUrl: stack.redisUrl, prefix: profile.database })
  const zone = createZone(profile.timeZone)
  const { landing } = home
  const panels = createPanels({ store, queues, profile, zone, landing, now: () => new Date() })
  const time = async (run: () => Promise<unknown>) => {
    const startedAt = performance.now()
    await run()
    return performance.now() - startedAt
  }
  const count = () => store.rows({ sql: 'SELECT count() FROM file_state FINAL' })
  const report = async (name: string, run: () => Promise<unknown>) => {
    const took: number[] = []
    for (let round = 0; round < rounds; round++) took.push(await time(run))
    print(`${name.padEnd(24)} ${median(took).toFixed(1).padStart(8)} ms`)
    return median(took)
  }
  try {
    await report('a bare count, FINAL', count)
    for (const { name, read } of panels) await report(name, read)
    const all = await report('all panels at once', () =>
      Promise.all(panels.map(({ read }) => read())),
    )
    print(`ratio to the estimate: ${(all / msMax).toFixed(2)}`)
  } finally {
    await queues.close()
    await store.close()
  }
}

/** Files of a year, settled, each with eight chunks; the newest came in today. */
async function fillLedger({ store }: Rig, files: number): Promise<void> {
  const fill = (sql: string) => store.command({ sql, parameters: { files } })
  await fill(`INSERT INTO arrival (arrival, claim, source, name, path, bytes, arrived_at)
    SELECT number + 1, toString(number), 'inbox', concat('BENCH_', toString(number), '.csv'), '', 1000000,
      now64(3) - INTERVAL toUInt32(({files:UInt32} - number) * 31536000 / {files:UInt32}) SECOND
    FROM numbers({files:UInt32})`)
  await fill(`INSERT INTO file_state (arrival, rank, status, source, file_name, company_code, feed,
      manifest, rows_read, rows_accepted, received_at, published_at, settled_at, last_interval_end)
    SELECT arrival, 55, if(arrival % 50 = 0, 'quarantined', 'published'), source, name, 'BENCH',
      if(arrival % 2 = 0, 'Electric', 'Gas'), repeat('x', 2000), 480000, 480000, arrived_at, arrived_at,
      arrived_at, arrived_at FROM arrival WHERE arrival <= {files:UInt32}`)
  await fill(`INSERT INTO chunk_receipt (arrival, chunk, rows_read, rows_accepted, recorded_at)
    SELECT arrival, chunk, 60000, 60000, arrived_at
    FROM arrival ARRAY JOIN range(8) AS chunk WHERE arrival <= {files:UInt32}`)
}

/** Jobs that nobody takes: those of a queue that is paused. */
async function fillQueue({ stack, profile }: Rig, jobs: number): Promise<void> {
  const connection = createProducerConnection(stack.redisUrl)
  const queue = new Queue('register', { connection, prefix: profile.database })
  await queue.pause()
  for (let from = 0; from < jobs; from += jobsAtOnce) {
    const length = Math.min(jobsAtOnce, jobs - from)
    await queue.addBulk(Array.from({ length }, () => ({ name: 'register', data: { v: 2 } })))
  }
  await queue.close()
  connection.disconnect()
}
