import { t } from 'tap'
import { renderResult } from '../../benchmarks/chaos/result.js'
import { chaos } from '../../benchmarks/chaos/run.js'
import { sample, someOf } from '../rig/sample.js'

t.setTimeout(3_600_000)

const seed = Date.now() & 0x7fffffff
/** Readers that look all the while take most of the processor. */
const readerRestMs = sample({ short: 1_000, long: 60 })

const zeros = [
  'restatements missing 0, beyond the corrections 0',
  'meters with wrong tenancies 0, reads of others or of nobody 0, registered meters partly visible 0',
  'rows lost 0, doubled 0, files partly visible 0, acknowledged files not in the store 0, unfinished files 0',
]

const places = [
  { place: 'on one server', isReplicated: false, kills: sample({ short: 3, long: 200 }) },
  { place: 'on two replicas that lag', isReplicated: true, kills: sample({ short: 3, long: 200 }) },
]

for (const { place, isReplicated, kills } of someOf(places)) {
  t.test(`no kill loses, doubles or half-shows a row ${place}`, async (t) => {
    const result = await chaos({
      ...{ kills, seed, readerRestMs, isReplicated },
      days: sample({ short: 31, long: 92 }),
      keeps: false,
      say: (line) => t.comment(line),
    })
    const lines = renderResult(result)
    for (const line of lines) t.comment(line)
    t.same(lines.slice(-zeros.length), zeros)
    t.same(result.wrongs, [])
    t.equal(result.rowsAltered, 0, 'every read is as the latest arrival has it')
    t.equal(
      result.filesUnbalanced,
      0,
      'every receipt has the rows and quantities that the rules require',
    )
    for (const [target, count] of Object.entries(result.kills))
      t.ok(count > 0, `${target} ${count}`)
    if (sample({ short: false, long: true })) t.ok(result.killsProven > 0, 'in the midst of a step')
    t.ok(result.flushes > 0, 'Redis was emptied')
    t.equal((result.lags ?? 0) > 0, isReplicated, `kept behind ${result.lags} times`)
    t.ok(result.corrections + result.late > 0, 'files correct each other, whichever is first')
    t.ok(result.repeats > 0, `${result.repeats} reads that a file or a later one repeats`)
    t.ok(result.customers >= 10, `${result.customers} customers`)
    t.ok(result.looks > 20, `${result.looks} looks of readers`)
  })
}
