import t from 'tap'
import { measureBills } from '../../benchmarks/bills/bills.js'
import { measureCycleDay } from '../../benchmarks/bills/cycle-day.js'
import { measureGreenButton } from '../../benchmarks/green-button.js'
import { measureSmallFiles } from '../../benchmarks/small-files.js'
import { measureReplicated } from '../../benchmarks/usage/replicated.js'
import { oneOfEach } from '../rig/sample.js'

const print = () => undefined
const test = oneOfEach(2, t)

test('bills of a few customers are measured', async (t) => {
  await t.resolves(measureBills({ customers: 40, rounds: 1, print }))
})

test('a cycle day of a few customers is measured, with all its bills', async (t) => {
  const { customers, seconds } = await measureCycleDay({ customers: 40, print })
  t.equal(customers, 40)
  t.ok(seconds > 0)
})

test('a few small files are measured, with all their rows', async (t) => {
  const { rounds, processorMsPerFile } = await measureSmallFiles({
    files: 5,
    rows: 8,
    rounds: 2,
    print,
  })
  t.equal(rounds.length, 2)
  t.ok(processorMsPerFile > 0)
})

test('a few meters are exported, each in the feed', async (t) => {
  const { tenth, whole } = await measureGreenButton({ meters: 10, months: 3, print })
  t.match([tenth.meters, whole.meters], [1, 10])
  t.ok(whole.megabytes > tenth.megabytes)
})

test('a file is loaded into two replicas beside one server', async (t) => {
  const { rows } = await measureReplicated({ customers: 10, rounds: 1, print })
  t.equal(rows, 960)
})
