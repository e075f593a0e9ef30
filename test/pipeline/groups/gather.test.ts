import t from 'tap'
import { gather } from '../../../pipeline/groups/gather.js'
import type { Source } from '../../../pipeline/sources/source.js'
import { sql } from '../../../pipeline/store/sql.js'
import { Fault } from '../../../schemas/fault.js'
import { createFolder } from '../../rig/folder.js'
import { oneOfEach } from '../../rig/sample.js'
import { createLineOn } from '../by-hand.js'
import { migratedStore } from '../customers/registering.js'
import { loadFiles, readAll, rememberJobs, type SmallFile } from './rig.js'

let files = 0
function file(rows: readonly string[], day = '02022026'): SmallFile {
  return { name: `DEMO_${day}_Electric_${++files}.csv`, rows }
}

/** Reads of one meter from an hour on, so many minutes apart. */
function reads(meter: string, { hour = 0, count = 4, minutes = 15, quantity = 1, day = 1 } = {}) {
  return Array.from({ length: count }, (_, at) => {
    const minute = hour * 60 + at * minutes
    const clock = `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`
    return `A${meter},S${meter},M${meter},2/${day}/2026 ${clock},${quantity}.${at}`
  })
}

interface Case {
  readonly before?: readonly SmallFile[]
  readonly files: readonly SmallFile[]
  /** How many of the files are published with others. */
  readonly together: number
}

/** What is stored before, and then files that come together. */
const cases: Readonly<Record<string, Case>> = {
  'plain files of different meters': {
    together: 3,
    files: [file(reads('1')), file(reads('2')), file([...reads('3'), ...reads('4')])],
  },
  'whole days, which prove their length': {
    together: 3,
    files: ['1', '2', '3'].map((meter) => file(reads(meter, { count: 96 }))),
  },
  'one time for each meter, of lengths that the store knows': {
    together: 3,
    before: [file([...reads('1', { count: 96 }), ...reads('2', { count: 24, minutes: 60 })])],
    files: [
      file(reads('1', { day: 2, count: 1 })),
      file(reads('2', { day: 2, count: 1 })),
      file(reads('3', { day: 2, count: 1 })),
    ],
  },
  'a new length': {
    together: 2,
    before: [file(reads('1', { count: 96 }))],
    files: [
      file(reads('1', { day: 2, count: 24, minutes: 60 })),
      file(reads('2', { day: 2, count: 24, minutes: 60 })),
      file(reads('3', { day: 2 })),
    ],
  },
  'a new length on other days than those of the other file': {
    together: 2,
    before: [1, 3, 4].map((meter) =>
      file(reads(`${meter}`, { count: 96, day: meter + 3 }), '10022026'),
    ),
    files: [
      file(reads('2', { count: 24, minutes: 60, day: 3 }), '10022026'),
      file(
        [1, 3, 4].flatMap((meter) => reads(`${meter}`, { day: 8, count: 24, minutes: 60 })),
        '10022026',
      ),
    ],
  },
  'a length that the reads of two meters had only by a guess': {
    together: 2,
    before: [file([...reads('1', { count: 1 }), ...reads('2', { count: 1 })])],
    files: [
      file(reads('1', { count: 24, minutes: 60 })),
      file(reads('2', { day: 2, count: 1 })),
      file(reads('3', { day: 2, count: 96 })),
    ],
  },
  'a length that the profile does not have': {
    together: 2,
    files: [file(reads('1', { count: 20, minutes: 7 })), file(reads('2')), file(reads('3'))],
  },
  'a bad row among good files': {
    together: 3,
    files: [
      file(reads('1')),
      file([...reads('2'), 'A2,S2,M2,2/1/2026 5:00,abc']),
      file([...reads('3'), 'A3,S3,M3,2/1/2026 5:00,-4']),
      file(reads('4')),
    ],
  },
  'the same meter in several files': {
    together: 3,
    files: [
      file(reads('1')),
      file(reads('2')),
      file(reads('1', { hour: 1 })),
      file(reads('3')),
      file(reads('1', { quantity: 7 })),
    ],
  },
  'a row that is there twice': {
    together: 2,
    files: [
      file([...reads('1'), ...reads('1', { quantity: 2 })]),
      file(reads('2')),
      file(reads('3')),
    ],
  },
  'corrections and repetitions of stored reads': {
    together: 2,
    before: [file([...reads('1', { count: 96 }), ...reads('2', { count: 96 })])],
    files: [
      file(reads('1', { count: 96, quantity: 5 })),
      file(reads('2', { count: 96 })),
      file(reads('3', { count: 96 })),
      file(reads('4', { count: 96 })),
    ],
  },
  'files without rows, of an unknown header and of another order of dates': {
    together: 2,
    files: [
      file([]),
      file(reads('1')),
      file(['A,S,M9,25/1/2026 0:00,1']),
      file(reads('2')),
      file(['A,S,M8,2026-02-01T00:00:00Z,1']),
    ],
  },
  'a file under a name that is published': {
    together: 2,
    before: [{ name: 'DEMO_01022026_Electric_77.csv', rows: reads('1') }],
    files: [
      { name: 'DEMO_01022026_Electric_77.csv', rows: reads('1') },
      file(reads('2')),
      file(reads('3')),
    ],
  },
  'blanks and carriage returns': {
    together: 3,
    files: [
      file(reads('1').map((row) => `${row}\r`)),
      file(['', ...reads('2'), '']),
      file(reads('3').map((row) => row.replace('A3', ' A3 '))),
      file(reads('4')),
    ],
  },
}

const stores = [await migratedStore(t), await migratedStore(t)] as const

/** The same files, of meters that no other case has. */
function ofCase(files: readonly SmallFile[], number: number): readonly SmallFile[] {
  return files.map(({ name, rows }) => {
    return { name, rows: rows.map((row) => row.replace(/([ASM])(\d)/g, `$1${number}c$2`)) }
  })
}

const test = oneOfEach(5, t)

for (const [number, [what, one]] of Object.entries(cases).entries()) {
  test(`${what}: files that are gathered leave what files one by one leave`, async (t) => {
    const [gathered, single] = stores.map((store) => createLineOn(store, createFolder(t)))
    if (gathered === undefined || single === undefined) throw new Error('there are two stores')
    for (const line of [gathered, single]) {
      for (const before of ofCase(one.before ?? [], number)) {
        await loadFiles(line, [before], 'one by one')
      }
    }
    const grouped = sql`SELECT arrival FROM file_state FINAL WHERE group_id != 0 AND status = 'published'`
    const countGrouped = async () => (await gathered.context.store.rows({ sql: grouped })).length
    const already = await countGrouped()
    const files = ofCase(one.files, number)
    await loadFiles(gathered, files, 'gathered')
    await loadFiles(single, files, 'one by one')
    t.strictSame(await readAll(gathered), await readAll(single))
    t.equal((await countGrouped()) - already, one.together)
  })
}

t.test('a source that does not answer is asked for one file, and holds up no other', async (t) => {
  const line = createLineOn(stores[0], createFolder(t))
  const { context } = line
  let asked = 0
  const away = {
    ...(context.sources.get('submit') as Source),
    name: 'away',
    fetch: () => {
      asked++
      return Promise.reject(new Fault('SOURCE_UNREACHABLE', 'no route'))
    },
  }
  const sources = new Map([...context.sources, ['away', away] as const])
  const queued = rememberJobs(line)
  const there = [file(reads('1')), file(reads('2'))]
  const arrivals: number[] = []
  for (const { name, rows } of there) arrivals.push((await line.arrive(name, rows)).arrival)
  const remote = Array.from({ length: 9 }, () => {
    const { name } = file([])
    return { source: 'away', name, path: name, bytes: 1, modifiedMs: 0, force: false }
  })
  const claimed = await context.ledger.claimAll(remote)
  arrivals.push(...claimed.map(({ arrival }) => arrival))
  await gather({ ...context, sources }, arrivals)
  t.ok(asked > 0 && asked <= 4, `it was asked ${asked} times`)
  t.equal(queued.filter(({ name }) => name === 'fetch').length, 9)
  t.equal(queued.filter(({ name }) => name === 'reconcile').length, 1, 'the others are loaded')
})
