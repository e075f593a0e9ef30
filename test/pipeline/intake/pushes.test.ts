import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { PushedLines } from '../../../pipeline/intake/ambiguous-rows.js'
import { createFolder } from '../../rig/folder.js'
import { createSmallDisk } from '../../rig/small-disk.js'
import { createRig, header, own, pushed, rowOf, stem } from './pushing.js'

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

t.test('rows with a quality have a file of their own, with a column for it', async (t) => {
  const { pushes, folder } = await createRig(t)
  for (const more of ['', ',Quality', '']) {
    const text = `${header}${more}\nA,S,M,3/4/2024 0:00,1${more && ',estimated'}\n`
    await pushes.push({ sender: 'ami', feed: 'Electric', format: 'csv', text })
  }
  await pushes.close()
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  t.same(texts.sort(), [
    `${header}\nA,S,M,3/4/2024 0:00,1\nA,S,M,3/4/2024 0:00,1\n`,
    `${header},Quality\nA,S,M,3/4/2024 0:00,1,estimated\n`,
  ])
})

t.test('a file whose first rows find no room is not an arrival', async (t) => {
  const { path: folder } = createSmallDisk(t, 4)
  const { pushes, claimed } = await createRig(t, { folder, freeDiskBytesMin: 2_000_000 })
  const text = `${header}\n${`${rowOf(1)}\n`.repeat(100_000)}`
  await t.rejects(pushes.push({ ...pushed(1), text }), { code: 'DISK_FULL' })
  t.match(await pushes.push(pushed(1)), { kind: 'gathered' })
  await pushes.close()
  t.equal(claimed.length, 1)
  t.equal(readFileSync(claimed[0] ?? '', 'utf8'), `${header}\n${rowOf(1)}\n`)
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
