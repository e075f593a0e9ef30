import t from 'tap'
import type { Arrival } from '../../../pipeline/ledger/ledger.js'
import { refuseChanged, toListed } from '../../../pipeline/sources/remote-files.js'
import { storyProfile } from '../../story/rig/stack.js'

const naming = storyProfile({ profile: { fileNames: [{ like: 'u<DD><MM><YYYY>', feed: 'Gas' }] } })
const fileAt = (name: string, modifiedMs: number) => ({
  name,
  path: `/${name}`,
  bytes: 1,
  modifiedMs,
})
const order = (...files: readonly ReturnType<typeof fileAt>[]) =>
  toListed({ settings: { name: 'mdm' }, naming }, files).map(({ name }) => name)

t.test('of files that came in one second that of the earlier day comes first', async (t) => {
  const days = ['DEMO_01032024_Gas.csv', 'DEMO_28022024_Gas.csv', 'u02032024.csv', 'u31122023.csv']
  const [march, february, later, december] = days as [string, string, string, string]
  t.same(order(...days.map((name) => fileAt(name, 1))), [december, february, march, later])
  t.same(order(fileAt(february, 2), fileAt(march, 1)), [march, february], 'their times come first')
  const numbered = [1, 9, 10].map((number) => `DEMO_01032024_Gas_${number}.csv`)
  t.same(order(...numbered.map((name) => fileAt(name, 1))), numbered, 'then their numbers')
  t.same(order(fileAt('b', 1), fileAt('a', 1), fileAt(march, 1)), ['a', 'b', march])
})

t.test('a file that is shown twice is there once', async (t) => {
  t.same(order(fileAt('a.csv', 1), fileAt('a.csv', 1)), ['a.csv'])
})

t.test('a file that changed is refused with what shows the change', (t) => {
  const found = fileAt('DEMO_01032024_Gas.csv', 1)
  const refusedAs = (more: Partial<Arrival>, message: RegExp) =>
    t.throws(() => refuseChanged(found, { ...found, ...more } as Arrival), { message })
  refusedAs(
    { bytes: 2 },
    /changed while it was read: 2 bytes when listed, 1 now; .* send it again$/,
  )
  refusedAs({ modifiedMs: 0 }, /changed while it was read: it has another time; .* send it again$/)
  t.end()
})
