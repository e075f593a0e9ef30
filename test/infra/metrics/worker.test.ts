import t from 'tap'
import { failureCode } from '../../../infra/metrics/registry.js'
import { createWorkerMetrics } from '../../../infra/metrics/worker.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { parseScrape } from './scrape.js'

const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
const nowhere = { url: 'http://127.0.0.1:1', username: 'reader', password: '', database: 'tieline' }

t.test('without ClickHouse and Redis a scrape reports the rest, and what is down', async (t) => {
  const failures: string[] = []
  const metrics = createWorkerMetrics({
    profile,
    redisUrl: 'redis://127.0.0.1:1',
    store: nowhere,
    landing: createFolder(t),
    systems: () => [],
    onFailure: (error) => failures.push(failureCode(error)),
  })
  t.teardown(metrics.close)
  metrics.done('load', 1_500)
  metrics.failed(new TypeError('no such thing'))
  const series = parseScrape(await metrics.scrape.text())
  t.match(Object.fromEntries(series), {
    tieline_store_up: 0,
    tieline_queue_up: 0,
    'tieline_step_seconds_count{step="load"}': 1,
    'tieline_failures_total{code="UNEXPECTED"}': 1,
  })
  t.ok((series.get('tieline_disk_free_bytes') ?? 0) > 0)
  const names = [...series.keys()].map((name) => name.split('{')[0])
  t.notOk(names.includes('tieline_files'), 'unknown values are not reported')
  t.notOk(names.includes('tieline_oldest_file_seconds'))
  t.notOk(names.includes('tieline_queue_jobs'))
  t.ok(failures.includes('STORE_UNREACHABLE'), 'each failure is logged')
  await t.rejects(metrics.ready(), { code: 'STORE_UNREACHABLE' })
})
