import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createFolder } from '../../rig/folder.js'
import { sample, someOf } from '../../rig/sample.js'
import { header, until } from '../../story/rig/stack.js'
import type { DiskDeath } from './disk-calls-process.js'
import { ask, createIntakeProcesses, createSight, type Gateway, push } from './gateways.js'

const { home, store, createGateway, start } = await createIntakeProcesses(t)
const { readRows, isOdd, readFiles, untilRead, untilSettled } = createSight(store)
const gateway = await createGateway()
const preload = new URL('./disk-calls-process.js', import.meta.url)
const traces = createFolder(t)

type Moment = Pick<DiskDeath, 'at' | 'isCarriedOut'>
const never: Moment = { at: 0, isCarriedOut: false }

/** Starts a gateway that dies at a call by which it changes a folder. */
async function startMortal(moment: Moment, folder = home.pushed): Promise<() => readonly string[]> {
  const tracePath = join(traces, `${process.hrtime.bigint()}`)
  writeFileSync(tracePath, '')
  const death: DiskDeath = { folder, tracePath, ...moment }
  process.env['TIELINE_DISK_DEATH'] = JSON.stringify(death)
  await start(gateway, ['--import', preload.href]).catch(() => undefined)
  delete process.env['TIELINE_DISK_DEATH']
  return () => readFileSync(tracePath, 'utf8').trimEnd().split('\n')
}

function isDead({ child }: Gateway): boolean {
  return child === undefined || child.exitCode !== null || child.signalCode !== null
}

async function kill({ child }: Gateway): Promise<void> {
  if (child === undefined || isDead(gateway)) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const acknowledged = new Set<string>()
let meters = 0

/** Rows that nobody acknowledged may be published or not. */
async function pushRows(): Promise<void> {
  const names = Array.from({ length: 3 }, () => `M${++meters}`)
  const { status } = await push(gateway, { header, meters: names })
  if (status === 202) for (const name of names) acknowledged.add(name)
}

const listParts = () => readdirSync(home.pushed).filter((name) => name.endsWith('.part'))

/** So that the next gateway takes the parts of the dead one over at once. */
function age(): void {
  for (const name of listParts()) utimesSync(join(home.pushed, name), 0, 0)
}

interface Round {
  readonly trace: readonly string[]
  /** By itself, at the moment that it was given. */
  readonly hasDied: boolean
}

async function endRound(trace: () => readonly string[]): Promise<Round> {
  await until(() => isDead(gateway) || readdirSync(home.pushed).length === 0)
  const hasDied = isDead(gateway)
  await kill(gateway)
  return { trace: trace(), hasDied }
}

/** A gateway gathers rows of three calls and submits them, unless it dies before. */
async function gather(moment: Moment): Promise<Round> {
  const trace = await startMortal(moment)
  for (let call = 0; call < 3 && !isDead(gateway); call++) await pushRows()
  return endRound(trace)
}

/** A gateway takes over what a dead one has gathered and submits it, unless it dies before. */
async function takeOver(moment: Moment): Promise<Round> {
  await start(gateway)
  for (let call = 0; call < 3; call++) await pushRows()
  await kill(gateway)
  age()
  return endRound(await startMortal(moment))
}

const rounds = { gather, takeOver }

/** In short tests one of the calls around which the files of a part are complete. */
const moments = sample({
  short: someOf([4, 7]),
  long: Array.from({ length: 24 }, (_, index) => index + 1),
})

for (const [name, round] of Object.entries(rounds)) {
  t.test(`the folder is flushed before what depends on it: ${name}`, async (t) => {
    const trace = (await round(never)).trace.filter((call) => call !== 'ask')
    const renamed = trace.findIndex((call) => /^rename \S+ \S+\.csv$/.test(call))
    t.ok(renamed > 0)
    t.equal(trace[renamed + 1], 'sync .')
    t.match(trace[renamed - 1], /^(sync|datasync) /)
    const begun = trace.findIndex((call) => /^open \S+\.part$/.test(call))
    t.ok(name !== 'gather' || begun >= 0, 'a gateway that gathers begins a part')
    if (begun >= 0) t.equal(trace[begun + 3], 'sync .', 'and before the first row')
  })

  t.test(`a gateway killed at a step loses and doubles nothing: ${name}`, async (t) => {
    for (const at of moments) {
      for (const isCarriedOut of [false, true]) {
        const { trace, hasDied } = await round({ at, isCarriedOut })
        t.ok(hasDied || trace.length < at, `${trace.length} calls, and no death at ${at}`)
        age()
        await start(gateway)
        await untilRead(acknowledged.size)
        await until(() => readdirSync(home.pushed).length === 0)
        await kill(gateway)
        const rows = await readRows()
        const found = new Set(rows.map(({ meter }) => meter))
        const lost = [...acknowledged].filter((meter) => !found.has(meter))
        t.strictSame([lost, rows.filter(isOdd)], [[], []], `call ${at} after ${trace.at(-1)}`)
      }
    }
  })
}

const wholeAt = /^rename \S+\.part \S+\.csv$/

t.test('a complete upload of a killed gateway is loaded without being sent again', async (t) => {
  const upload = async () => {
    const row = `A,S,M${++meters},3/4/2024 0:00,${meters}`
    const body = `${header}\n${row}\n`
    const digest = createHash('sha256').update(body).digest('base64')
    const name = `DEMO_05032024_Electric_${meters}.csv`
    const headers = { 'repr-digest': `sha-256=:${digest}:` }
    return ask(gateway, `/v1/files/${name}`, { method: 'PUT', headers, body })
  }
  const first = await startMortal(never, home.uploads)
  t.match(await upload(), { status: 202 })
  await kill(gateway)
  acknowledged.add(`M${meters}`)
  const renamed = first().findIndex((call) => wholeAt.test(call)) + 1
  t.equal(first()[renamed], 'sync .')
  for (const at of someOf([renamed, renamed + 1, renamed + 3])) {
    await startMortal({ at, isCarriedOut: true }, home.uploads)
    t.match(await upload(), { status: undefined })
    acknowledged.add(`M${meters}`)
    await start(gateway)
    await untilRead(acknowledged.size)
    await until(() => readdirSync(home.uploads).length === 0)
    await kill(gateway)
  }
  t.same((await readRows()).filter(isOdd), [])
})

t.test('no file came in twice', async (t) => {
  await sleep(1_000)
  await untilSettled()
  const files = await readFiles()
  t.match(files, [{ status: 'published', rejected: '0', duplicate: '0' }])
  t.equal(files.length, 1)
})
