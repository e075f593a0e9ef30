import fc from 'fast-check'
import t from 'tap'
import { readMember, toGroups } from '../../../pipeline/groups/members.js'
import { groupFilesMax } from '../../../pipeline/queues/jobs.js'
import { createZone } from '../../../schemas/time/zone.js'
import { runs } from '../../rig/sample.js'

const file = fc.record({
  shape: fc.constantFrom('quarter hours', 'hours'),
  meters: fc.uniqueArray(fc.integer({ min: 0, max: 12 }).map(String), {
    minLength: 1,
    maxLength: 4,
  }),
  bytes: fc.integer({ min: 1, max: 1_048_576 }),
})

t.test('groups hold every file once, in order, and no meter twice', async () => {
  fc.assert(
    fc.property(fc.array(file, { maxLength: 60 }), (drawn) => {
      const files = drawn.map((one) => ({ ...one, meters: new Set(one.meters) }))
      const groups = toGroups(files)
      const places = new Map(groups.flatMap((group, at) => group.map((one) => [one, at] as const)))
      const meters = groups.map((group) => group.flatMap((one) => [...one.meters]))
      const isOrdered = files.every((one, index) =>
        files
          .slice(index + 1)
          .filter((later) => [...later.meters].some((meter) => one.meters.has(meter)))
          .every((later) => (places.get(later) as number) > (places.get(one) as number)),
      )
      return (
        groups.flat().length === files.length &&
        places.size === files.length &&
        meters.every((all) => new Set(all).size === all.length) &&
        groups.every((group) => new Set(group.map(({ shape }) => shape)).size === 1) &&
        isOrdered
      )
    }),
    { numRuns: runs(500) },
  )
})

t.test('a group has at most so many files and bytes', async (t) => {
  const many = Array.from({ length: groupFilesMax + 1 }, (_, at) => {
    return { shape: '', meters: new Set([String(at)]), bytes: 1 }
  })
  t.strictSame(
    toGroups(many).map((group) => group.length),
    [groupFilesMax, 1],
  )
  const large = many.slice(0, 20).map((one) => ({ ...one, bytes: 1_048_576 }))
  t.strictSame(
    toGroups(large).map((group) => group.length),
    [16, 4],
  )
})

const rules = {
  zone: createZone('America/Detroit'),
  dateOrder: 'MDY',
  format: undefined,
  clock: 'wall',
  stamp: 'start',
  seconds: 900,
} as const

t.test('each row gets the version of its line in its own file', async (t) => {
  const bytes = Buffer.from('A,S,M,2/1/2026 1:00,1\r\n\nA,S,M ,2/1/2026 1:15,2\n')
  const found = readMember(bytes, { arrival: 3, line: 2 }, rules)
  const version = 3n << 32n
  t.equal(
    found?.lines,
    `A,S,M,2/1/2026 1:00,1,${version + 2n}\nA,S,M ,2/1/2026 1:15,2,${version + 4n}\n`,
  )
  t.strictSame([...(found?.meters ?? [])], ['M'])
})

for (const [what, row] of [
  ['has a column too many', 'A,S,M,2/1/2026 1:00,1,x'],
  ['has a column too few', 'A,S,M,2/1/2026 1:00'],
  ['has no time', 'A,S,M,soon,1'],
  ['has a time that the clock shows twice', 'A,S,M,11/1/2026 1:15,1'],
  ['has a time that the clock leaves out', 'A,S,M,3/8/2026 2:15,1'],
] as const) {
  t.test(`a file is received by itself if a row ${what}`, async (t) => {
    const bytes = Buffer.from(`A,S,M,2/1/2026 1:00,1\n${row}\n`)
    t.equal(readMember(bytes, { arrival: 3, line: 2 }, rules), undefined)
  })
}
