import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { t } from 'tap'
import { numberedMeters } from '../../../infra/demo/customers.js'
import { usageFile } from '../../../infra/demo/usage-file.js'
import {
  flaws,
  type UsageOptions,
  usageLines,
  usageRows,
  usageSlots,
} from '../../../infra/demo/usage-rows.js'
import { runs } from '../../rig/sample.js'

const base: UsageOptions = {
  meters: numberedMeters(3),
  seed: 7,
  firstDay: '2025-11-01',
  days: 3,
  intervalSeconds: 900,
  zone: 'America/Detroit',
}
const seed = Number(process.env['TIELINE_SEED'] ?? 20_251_102)

t.test('the fast writer writes the rows that usageRows names, and tallies them', async (t) => {
  const folder = t.testdir()
  const options = fc.record({
    meters: fc.integer({ min: 0, max: 40 }).map((count) => numberedMeters(count)),
    seed: fc.integer({ min: 0, max: 1e6 }),
    firstDay: fc.constantFrom('2025-03-08', '2025-11-01', '2024-02-28'),
    days: fc.integer({ min: 1, max: 5 }),
    intervalSeconds: fc.constantFrom(900, 3_600, 86_400),
    zone: fc.constantFrom('America/Detroit', 'UTC', 'Australia/Lord_Howe'),
    shape: fc.constantFrom('electric' as const, 'gas' as const),
    badShare: fc.constantFrom(0, 0.1, 1),
  })
  const holds = async (one: UsageOptions) => {
    const path = join(folder, 'file.csv')
    const tally = await usageFile(path, one)
    const lines: string[] = []
    for await (const line of usageLines(one)) lines.push(line)
    const text = `${lines.join('\n')}\n`
    const rows = [...usageRows(one)]
    const good = rows.filter((row) => row.flaw === undefined)
    const sum = (some: typeof rows) => some.reduce((total, row) => total + row.quantityMicro, 0n)
    return (
      readFileSync(path, 'utf8') === text &&
      tally.bytes === statSync(path).size &&
      tally.rows === rows.length &&
      tally.rowsBad === rows.length - good.length &&
      tally.quantityMicro === sum(good)
    )
  }
  const count = runs(15, 600)
  await fc.assert(fc.asyncProperty(options, holds), { seed, numRuns: count })
  t.pass(`${count} files, seed ${seed}`)
})

t.test('the hour that the clock repeats stands twice, the one it skips not at all', async (t) => {
  const stamps = (options: UsageOptions) => usageSlots(options).map((slot) => slot.stamp)
  const autumn = stamps({ ...base, firstDay: '2025-11-02', days: 1 })
  t.equal(autumn.length, 100)
  t.equal(autumn.filter((stamp) => stamp === '11/2/2025 1:15').length, 2)
  const spring = stamps({ ...base, firstDay: '2025-03-09', days: 1 })
  t.equal(spring.length, 92)
  t.notOk(spring.some((stamp) => stamp.startsWith('3/9/2025 2:')))
  t.same(stamps({ ...base, days: 2, intervalSeconds: 86_400 }), ['11/1/2025', '11/2/2025'])
})

t.test('the same options give the same bytes, another seed others', async (t) => {
  const folder = t.testdir()
  const write = async (name: string, options: UsageOptions) => {
    const tally = await usageFile(join(folder, name), options)
    return { tally, bytes: readFileSync(join(folder, name)) }
  }
  const first = await write('a.csv', base)
  t.ok(first.bytes.equals((await write('b.csv', base)).bytes))
  t.notOk(first.bytes.equals((await write('c.csv', { ...base, seed: 8 })).bytes))
  const packed = await write('d.csv.gz', base)
  t.ok(gunzipSync(packed.bytes).equals(first.bytes), 'gzip holds the same')
})

t.test('bad rows are bad in every way, in about the share asked for', async (t) => {
  const rows = [...usageRows({ ...base, meters: numberedMeters(200), badShare: 0.05 })]
  const bad = rows.filter((row) => row.flaw !== undefined)
  t.same(new Set(bad.map((row) => row.flaw)), new Set(flaws))
  const share = bad.length / rows.length
  t.ok(share > 0.045 && share < 0.055, String(share))
})
