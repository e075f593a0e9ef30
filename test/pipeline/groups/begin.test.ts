import t from 'tap'
import type { Arrival } from '../../../pipeline/ledger/ledger.js'
import { groupFilesMax, type JobName } from '../../../pipeline/queues/jobs.js'
import { beginAll, smallBytesMax } from '../../../pipeline/steps/forward.js'
import { createLineByHand } from '../by-hand.js'

const { context } = await createLineByHand(t)

let last = 0
function arrived(name: string, more: Partial<Arrival> = {}): Arrival {
  const place = { source: 'inbox', path: `/in/${name}`, modifiedMs: 0, force: false }
  return { arrival: ++last, arrivedAt: new Date(), name, bytes: 10, ...place, ...more }
}

/** The jobs that are queued for arrivals. */
async function jobsOf(arrivals: readonly Arrival[]): Promise<readonly unknown[]> {
  const jobs: unknown[] = []
  const add = async (name: JobName, data: object) => {
    const { arrival, arrivals } = data as { arrival?: number; arrivals?: readonly number[] }
    jobs.push([name, arrival ?? arrivals])
  }
  await beginAll({ ...context, queues: { ...context.queues, add } }, arrivals)
  return jobs
}

const small = (day: string) => arrived(`DEMO_${day}012026_Electric.csv`)

t.test('small files of reads that come together are gathered', async (t) => {
  const [one, other] = [small('01'), small('02')]
  t.strictSame(await jobsOf([one, other]), [['gather', [one.arrival, other.arrival]]])
})

t.test('a small file that comes alone is received', async (t) => {
  const one = small('01')
  t.strictSame(await jobsOf([one]), [['receive', one.arrival]])
})

t.test('so many files are gathered at once', async (t) => {
  const many = Array.from({ length: groupFilesMax + 1 }, () => small('01'))
  t.equal((await jobsOf(many)).length, 2)
})

for (const [what, odd] of Object.entries({
  'a large file': arrived('DEMO_03012026_Electric.csv', { bytes: smallBytesMax + 1 }),
  'a file of records': arrived('DEMO_03012026_Billing.csv'),
  'a name that no feed has': arrived('hello.csv'),
  'a file that a person handed over': arrived('DEMO_03012026_Electric.csv', { source: 'submit' }),
  'a file that is loaded although it is published': arrived('DEMO_03012026_Gas.csv', {
    force: true,
  }),
  'a file whose rejects were accepted': arrived('DEMO_03012026_Gas.csv', { acceptRejects: true }),
  'a repair': arrived('DEMO_03012026_Gas.csv', { repairs: 1 }),
})) {
  t.test(`${what} is received by itself`, async (t) => {
    const jobs = await jobsOf([small('01'), odd, small('02')])
    t.strictSame(jobs[0], ['receive', odd.arrival])
    t.equal(jobs.length, 2)
  })
}
