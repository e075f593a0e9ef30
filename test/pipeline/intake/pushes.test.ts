import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PushedLines } from '../../../pipeline/intake/ambiguous-rows.js'
import { createPushes, type PushOptions } from '../../../pipeline/intake/pushes.js'
import { pushedAs } from '../../../pipeline/intake/sender.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'

const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
const rowOf = (meter: number) => `A,S,M${meter},3/4/2024 0:00,1`
const pushed = (meter: number) => {
  const text = `${header}\n${rowOf(meter)}\n`
  return { sender: 'ami', feed: 'Electric', format: 'csv', text } as const
}
/** Late in the evening of the 4th where the utility is. */
const nowMs = Date.UTC(2024, 2, 5, 4, 30)
const stem = `DEMO_04032024_Electric_${23.5 * 3_600_000}`

const own = (name: string) => pushedAs({ sender: 'ami', name })

async function createRig(t: Test, more: Partial<PushOptions> = {}) {
  const folder = more.folder ?? createFolder(t)
  const claimed: string[] = []
  const failures: unknown[] = []
  const pushes = await createPushes({
    folder,
    companyCodeOf: () => 'DEMO',
    zone: createZone('America/Detroit'),
    gatherSeconds: 3_600,
    freeDiskBytesMin: 0,
    naming: { companyCodes: ['DEMO'], fileNames: [] },
    arrive: {
      claim: async (_, { path }) => {
        if (!claimed.includes(path)) claimed.push(path)
        return 1
      },
    },
    now: () => new Date(nowMs),
    onFailure: (error) => failures.push(error),
    ...more,
  })
  return { pushes, folder, claimed, failures }
}

t.test('the rows of many calls make one file, each of them there when it is said', async (t) => {
  const { pushes, folder, claimed, failures } = await createRig(t)
  const part = join(folder, own(`${stem}.csv.part`))
  const calls = Array.from({ length: 1_000 }, async (_, meter) => {
    t.match(await pushes.push(pushed(meter)), { kind: 'gathered', fileName: `${stem}.csv` })
    if (!readFileSync(part, 'utf8').includes(`\n${rowOf(meter)}\n`)) throw new Error(`${meter}`)
  })
  await Promise.all(calls)
  t.same(claimed, [], 'it is not an arrival while it is gathered')
  await pushes.close()
  t.same(readdirSync(folder), [own(`${stem}.csv`)])
  t.same(claimed, [join(folder, own(`${stem}.csv`))])
  const lines = readFileSync(join(folder, own(`${stem}.csv`)), 'utf8').split('\n')
  t.equal(lines[0], header)
  t.equal(new Set(lines).size, 1_002)
  t.same(failures, [])
})

t.test('each sender and each timestamp format has a file of its own', async (t) => {
  const { pushes, folder } = await createRig(t)
  const send = async (sender: string, timestamp: string) => {
    const text = `${header}\nA,S,${sender},${timestamp},1\n`
    return pushes.push({ sender, feed: 'Electric', format: 'csv', text })
  }
  for (const timestamp of ['3/4/2024 0:00', '2024-03-04 00:15', 'soon', '3/4/2024 0:30']) {
    for (const sender of ['ami', 'mdm'])
      t.match(await send(sender, timestamp), { kind: 'gathered' })
  }
  await pushes.close()
  const rowsOf = (name: string) =>
    readFileSync(join(folder, name), 'utf8').trimEnd().split('\n').slice(1)
  const files = readdirSync(folder).map((name) =>
    rowsOf(name)
      .map((row) => row.slice(4))
      .sort(),
  )
  t.same(
    files.sort(),
    ['ami', 'mdm'].flatMap((sender) => [
      [`${sender},2024-03-04 00:15,1`],
      [`${sender},3/4/2024 0:00,1`, `${sender},3/4/2024 0:30,1`],
      [`${sender},soon,1`],
    ]),
  )
})

t.test('what a dead process gathered ends with its last whole row', async (t) => {
  const folder = createFolder(t)
  const at = (name: string) => join(folder, own(name))
  writeFileSync(at('a.csv.part'), `${header}\n${rowOf(1)}\n${rowOf(2)}\nA,S,M3,3/`)
  writeFileSync(at('b.csv.part'), `${header}\nA,S`)
  writeFileSync(at('c.csv.part'), '')
  writeFileSync(at('c.csv.6f1c.copy'), header)
  writeFileSync(at('d.csv'), `${header}\n${rowOf(4)}\n`)
  for (const name of ['a', 'b', 'c']) utimesSync(at(`${name}.csv.part`), 0, 0)
  utimesSync(at('c.csv.6f1c.copy'), 0, 0)
  const { pushes, claimed } = await createRig(t, { folder })
  await pushes.close()
  t.same(readdirSync(folder).sort(), ['a.csv', 'd.csv'].map(own))
  t.equal(readFileSync(at('a.csv'), 'utf8'), `${header}\n${rowOf(1)}\n${rowOf(2)}\n`)
  t.same(claimed.sort(), [at('a.csv'), at('d.csv')])
})

t.test('what one process gathers is not handed over by another that begins', async (t) => {
  const first = await createRig(t)
  const { folder } = first
  await first.pushes.push(pushed(1))
  const second = await createRig(t, { folder })
  await second.pushes.push(pushed(2))
  await second.pushes.close()
  t.same(second.claimed, [], 'nor is a file that was begun after it')
  await first.pushes.push(pushed(3))
  await first.pushes.close()
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  const one = (...meters: number[]) => `${[header, ...meters.map(rowOf)].join('\n')}\n`
  t.same(texts.sort(), [one(1, 3), one(2)])
  const inOrder = first.claimed.map((path) => readFileSync(path, 'utf8'))
  t.same(inOrder, [one(1, 3), one(2)])
})

t.test('a process whose file another took over loses no row that it has answered', async (t) => {
  const slow = await createRig(t)
  const { folder } = slow
  await slow.pushes.push(pushed(1))
  utimesSync(join(folder, own(`${stem}.csv.part`)), 0, 0)
  await (await createRig(t, { folder })).pushes.close()
  t.equal(readFileSync(join(folder, own(`${stem}.csv`)), 'utf8'), `${header}\n${rowOf(1)}\n`)
  await t.rejects(slow.pushes.push(pushed(2)), { code: 'SOURCE_CHANGED', detail: /push the rows/ })
  t.match(await slow.pushes.push(pushed(3)), { kind: 'gathered' })
  await slow.pushes.close()
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  t.match(files.join(''), rowOf(1))
  t.match(files.join(''), rowOf(3))
})

t.test('a process that was held up changes nothing of a file that another took over', async (t) => {
  const held = await createRig(t)
  const { folder } = held
  await held.pushes.push(pushed(1))
  const part = join(folder, own(`${stem}.csv.part`))
  // Written by a call that was held up before it could be answered.
  appendFileSync(part, `${rowOf(2)}\n`)
  utimesSync(part, 0, 0)
  await (await createRig(t, { folder })).pushes.close()
  const whole = join(folder, own(`${stem}.csv`))
  const text = `${header}\n${rowOf(1)}\n${rowOf(2)}\n`
  t.equal(readFileSync(whole, 'utf8'), text)
  await t.rejects(held.pushes.push(pushed(3)), { code: 'SOURCE_CHANGED' })
  await held.pushes.close()
  t.equal(readFileSync(whole, 'utf8'), text, 'its arrival has these rows')
})

t.test('a write that was held up until another process took over changes no file', async (t) => {
  const { pushes, folder } = await createRig(t)
  await pushes.push(pushed(1))
  const part = join(folder, own(`${stem}.csv.part`))
  // The file as the process that is held up has it open, between its check and its write.
  const held = openSync(part, 'r+')
  utimesSync(part, 0, 0)
  await (await createRig(t, { folder })).pushes.close()
  const whole = join(folder, own(`${stem}.csv`))
  const text = `${header}\n${rowOf(1)}\n`
  t.equal(readFileSync(whole, 'utf8'), text)
  writeSync(held, `${rowOf(2)}\n`, text.length)
  closeSync(held)
  t.equal(readFileSync(whole, 'utf8'), text, 'its arrival has these rows')
  t.same(readdirSync(folder), [own(`${stem}.csv`)], 'nothing is left of the part')
  await pushes.close()
})

t.test(
  'files that have waited become arrivals in the order in which they were begun',
  async (t) => {
    const folder = createFolder(t)
    const names = [
      'DEMO_30112024_Electric_86390000.csv',
      'DEMO_01122024_Electric_5000.csv',
      'DEMO_01122024_Electric_9999000.csv',
      'DEMO_01122024_Electric_10000000.csv',
    ]
    for (const name of names) writeFileSync(join(folder, own(name)), `${header}\n${rowOf(1)}\n`)
    const { pushes, claimed } = await createRig(t, { folder })
    await pushes.close()
    t.same(
      claimed,
      names.map((name) => join(folder, own(name))),
    )
  },
)

t.test('a file waits for one of its sender and feed that was begun before it', async (t) => {
  const folder = createFolder(t)
  const [first, second, gas] = [
    'DEMO_01122024_Electric_9999000.csv',
    'DEMO_01122024_Electric_10000000.csv',
    'DEMO_01122024_Gas_10000000.csv',
  ] as const
  for (const name of [`${first}.part`, second, gas])
    writeFileSync(join(folder, own(name)), `${header}\n${rowOf(1)}\n`)
  const { pushes, claimed } = await createRig(t, { folder, gatherSeconds: 1 })
  const at = (name: string) => join(folder, own(name))
  await until(() => claimed.length > 0)
  t.same(
    claimed,
    [at(gas)],
    'a process gathers in the other, which may have a read that this corrects',
  )
  utimesSync(at(`${first}.part`), 0, 0)
  await until(() => claimed.length === 3)
  t.same(claimed, [at(gas), at(first), at(second)])
  await pushes.close()
})

t.test('a name that is taken is not written over', async (t) => {
  const { pushes, folder } = await createRig(t)
  writeFileSync(join(folder, own(`${stem}.csv.part`)), 'of another')
  const gathered = await pushes.push(pushed(1))
  await pushes.close()
  t.equal(readFileSync(join(folder, own(`${stem}.csv.part`)), 'utf8'), 'of another')
  t.match(gathered, { kind: 'gathered' })
  t.notMatch(gathered, { fileName: `${stem}.csv` })
})

t.test(
  'no two files of a day of 25 hours have one name, also if the first is put away',
  async (t) => {
    const names = new Set<string>()
    for (const now of ['2024-11-03T04:30:00.123Z', '2024-11-04T04:30:00.123Z']) {
      const { pushes, folder } = await createRig(t, { now: () => new Date(now) })
      await pushes.push(pushed(1))
      await pushes.close()
      for (const name of readdirSync(folder)) names.add(name.slice(17))
    }
    t.same(
      [...names],
      ['DEMO_03112024_Electric_1800123.csv', 'DEMO_03112024_Electric_88200123.csv'],
    )
  },
)

t.test('rows that do not reach the disk are not answered with yes', async (t) => {
  const full = await createRig(t, { freeDiskBytesMin: Number.MAX_SAFE_INTEGER })
  const open = () => readdirSync('/proc/self/fd').length
  const before = open()
  for (let at = 0; at < 20; at++) {
    await t.rejects(full.pushes.push(pushed(at)), { code: 'DISK_FULL' })
  }
  t.ok(open() < before + 20, 'no file is left open')
  t.same(readdirSync(full.folder), [], 'nor left behind')
  await full.pushes.close()
  const folder = join(createFolder(t), 'pushed')
  mkdirSync(folder)
  const gone = await createRig(t, { folder })
  rmSync(folder, { recursive: true })
  await t.rejects(gone.pushes.push(pushed(1)), { code: 'SOURCE_UNREACHABLE' })
  mkdirSync(folder)
  t.match(await gone.pushes.push(pushed(2)), { kind: 'gathered' }, 'and the next are taken again')
  await gone.pushes.close()
})

t.test('a call with a problem is refused as a whole', async (t) => {
  const findProblem = ({ feed, text }: PushedLines) => `${feed}: ${text}`
  const { pushes, folder } = await createRig(t, { findProblem })
  const detail = `Electric: ${rowOf(1)}\n`
  t.same(await pushes.push(pushed(1)), { kind: 'wrong', detail })
  await pushes.close()
  t.same(readdirSync(folder), [])
})
