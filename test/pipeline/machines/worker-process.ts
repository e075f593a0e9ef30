import { pino } from 'pino'
import { openHome } from '../../../infra/stack/home.js'
import { createWorker, type WorkerOptions } from '../../../pipeline/worker.js'

/** A worker on the data folder of one machine; it is killed in the middle. */
const [homePath = '', shared = ''] = process.argv.slice(2)
const { machine, ...folders } = openHome(homePath)
await createWorker({
  ...(JSON.parse(shared) as Pick<WorkerOptions, 'profile' | 'store' | 'redisUrl'>),
  folders,
  machine,
  secret: () => '',
  log: pino({ level: 'silent' }),
})
process.send?.(machine)
