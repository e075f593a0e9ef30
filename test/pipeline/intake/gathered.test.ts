import {
  appendFileSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'
import { createRig, header, own, pushed, rowOf, stem } from './pushing.js'

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

t.test('a file that a dead process had taken over already stays as it is', async (t) => {
  const folder = createFolder(t)
  const text = `${header}\n${rowOf(1)}\n`
  const whole = join(folder, own('a.csv'))
  const part = `${whole}.6f1c.part`
  for (const path of [whole, part]) writeFileSync(path, text)
  utimesSync(part, 0, 0)
  const before = statSync(whole)
  const { pushes, claimed } = await createRig(t, { folder })
  await pushes.close()
  t.same(readdirSync(folder), [own('a.csv')])
  t.match(statSync(whole), { ino: before.ino, mtimeMs: before.mtimeMs }, 'it may be an arrival')
  t.same(claimed, [whole])
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

t.test('a file is claimed once, and what takes long is not begun again behind it', async (t) => {
  const folder = createFolder(t)
  const names = ['DEMO_01122024_Electric_1.csv', 'DEMO_01122024_Electric_2.csv']
  for (const name of names) writeFileSync(join(folder, own(name)), `${header}\n${rowOf(1)}\n`)
  const claims: string[] = []
  let goOn: () => void = () => undefined
  const answer = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const claim = async (_: string, { name }: { name: string }) => {
    claims.push(name)
    await answer
    if (claims.length < 3) throw new Error('the store is away')
    return 1
  }
  const { pushes, failures } = await createRig(t, { folder, gatherSeconds: 1, arrive: { claim } })
  await sleep(3_500)
  t.same(claims, names.slice(0, 1), 'it waits')
  goOn()
  await until(() => claims.length >= 4)
  await sleep(2_500)
  await pushes.close()
  t.same(claims, [names[0], names[0], ...names], 'none that has an arrival is asked about again')
  t.equal(failures.length, 2)
})
