import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import {
  createNameHasher,
  lineSlot,
  recordSlots,
  startSlot,
} from '../../../pipeline/check/read-record.js'
import { createRecordSorter } from '../../../pipeline/check/record-sorter.js'
import { runs } from '../../rig/sample.js'

const folder = t.testdir()

interface Row {
  readonly meter: number
  readonly start: number
}

/** Sorts rows, their places being their lines, and gives meter, start and line of each. */
async function sort(rows: readonly Row[], recordsMax: number) {
  const sorter = createRecordSorter({ folder, recordsMax })
  const namesOf = createNameHasher()
  const meters = new Map<number, number>()
  try {
    for (const [line, { meter, start }] of rows.entries()) {
      const row = { accountNumber: 'A', externalSiteId: 'S', meterId: `M${meter}` }
      const names = namesOf(row)
      meters.set(names.meter[0] as number, meter)
      sorter.add({ ...names, start, line, micros: BigInt(line) })
      if (sorter.isFull()) await sorter.spill()
    }
    const found: (Row & { readonly line: number })[] = []
    for await (const block of sorter.sorted()) {
      for (let at = 0; at < block.length; at += recordSlots) {
        const meter = meters.get(block[at] as number) as number
        found.push({
          meter,
          start: block[at + startSlot] as number,
          line: block[at + lineSlot] as number,
        })
      }
    }
    return found
  } finally {
    await sorter.close()
  }
}

t.test('records come by meter, start and line, the last line first, whatever spills', async (t) => {
  const rows = fc.array(fc.record({ meter: fc.nat(4), start: fc.nat(5) }), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 16 }), async (rows, recordsMax) => {
      const whole = await sort(rows, 2 ** 20)
      const spilled = await sort(rows, recordsMax)
      t.same(spilled, whole)
      t.equal(whole.length, rows.length)
      for (const [index, one] of whole.entries()) {
        const before = whole[index - 1]
        if (before?.meter !== one.meter) continue
        t.ok(before.start < one.start || (before.start === one.start && before.line > one.line))
      }
      const meters = whole.map(({ meter }) => meter).filter((one, at, all) => one !== all[at - 1])
      t.equal(meters.length, new Set(meters).size, 'the rows of a meter stand together')
    }),
    { numRuns: runs(100), verbose: 1 },
  )
})

t.test('what is spilled has no name, so that nothing stays behind', async (t) => {
  const sorter = createRecordSorter({ folder, recordsMax: 1 })
  const names = createNameHasher()({ accountNumber: 'A', externalSiteId: 'S', meterId: 'M' })
  sorter.add({ ...names, start: 1, line: 1, micros: 1n })
  await sorter.spill()
  t.same(readdirSync(folder), [])
  await sorter.close()
})

t.test('a folder that is not there is a fault', async (t) => {
  const sorter = createRecordSorter({ folder: `${folder}/none`, recordsMax: 1 })
  const names = createNameHasher()({ accountNumber: 'A', externalSiteId: 'S', meterId: 'M' })
  sorter.add({ ...names, start: 1, line: 1, micros: 1n })
  await t.rejects(sorter.spill(), { code: 'SOURCE_UNREACHABLE' })
})
