import t from 'tap'
import { measureBills } from '../../benchmarks/bills/bills.js'
import { measureCycleDay } from '../../benchmarks/bills/cycle-day.js'
import { measureSmallFiles } from '../../benchmarks/small-files.js'

const print = () => undefined

t.test('bills of a few customers are measured', async (t) => {
  await t.resolves(measureBills({ customers: 40, rounds: 1, print }))
})

t.test('a cycle day of a few customers is measured, with all its bills', async (t) => {
  const { customers, seconds } = await measureCycleDay({ customers: 40, print })
  t.equal(customers, 40)
  t.ok(seconds > 0)
})

t.test('a few small files are measured, with all their rows', async (t) => {
  const { rounds, processorMsPerFile } = await measureSmallFiles({
    files: 5,
    rows: 8,
    rounds: 2,
    print,
  })
  t.equal(rounds.length, 2)
  t.ok(processorMsPerFile > 0)
})
