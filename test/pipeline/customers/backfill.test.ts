import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createRestMdm } from '../../../api/mdm/rest.js'
import { createDemoMdm } from '../../../infra/demo/back-office/mdm.js'
import { demoCustomers } from '../../../infra/demo/customers.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import {
  backfill,
  failHistory,
  openHistory,
  queueOpenHistory,
} from '../../../pipeline/customers/backfill.js'
import { readHistoryRequests } from '../../../pipeline/customers/history-requests.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { createLedger, type Ledger } from '../../../pipeline/ledger/ledger.js'
import type { Queues } from '../../../pipeline/queues/bullmq.js'
import { Fault } from '../../../schemas/fault.js'
import { backfillSettings, type HistoryAnswer } from '../../../schemas/gateway/history.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createZone } from '../../../schemas/time/zone.js'
import { post } from '../../api/rig.js'
import { createFolder } from '../../rig/folder.js'
import { customerAt, migratedStore } from './registering.js'

const noFolders = {
  inbox: '',
  outbox: '',
  landing: '',
  archive: '',
  quarantine: '',
  uploads: '',
  pushed: '',
}

const office = { seed: 20_251_102, count: 20 }
const meterIds = demoCustomers(office.seed, office.count).map(({ meters }) => meters[0]?.meterId)
const customer = (index: number) =>
  customerAt({ clientId: `C-${index}`, accountNumber: 'A', meterId: meterIds[index] ?? '' })

const mdm = await createDemoMdm({ port: 0, ...office })
t.teardown(mdm.close)
const store = await migratedStore(t)
const folder = join(createFolder(t), 'backfill')
mkdirSync(folder)

const askedFor = async (meterId: string | undefined) => {
  const { asked } = (await (await fetch(`${mdm.url}/asked`)).json()) as { asked: string[] }
  return asked.filter((one) => one === meterId).length
}
const stateOf = async (index: number) =>
  (await readHistoryRequests(store, [meterIds[index] ?? '']))[0]
const arrivalsOf = async (arrival = 0) => {
  const sql = `SELECT name, path, whole_by FROM arrival WHERE path = (
    SELECT path FROM arrival WHERE arrival = {arrival:UInt32})`
  return store.rows<{ name: string; path: string; whole_by: string }>({
    sql,
    parameters: { arrival },
  })
}

interface Outside {
  readonly path?: string
  readonly settings?: object
  readonly line?: Partial<PipelineContext>
}

/** A line whose jobs are run by hand; `queued` has what it queued. */
function createLine(t: Test, outside: Outside = {}) {
  const backfillOf = { url: `${mdm.url}${outside.path ?? '/usage'}`, timeoutMs: 10_000 }
  const section = { ...backfillOf, ...outside.settings }
  const profile = parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    ingestion: 'backfill',
    backfill: section,
  })
  const queued: object[] = []
  const driver = createRestMdm(backfillSettings.parse(section), () => 'secret')
  t.teardown(driver.close)
  const queues = { add: async (name: string, data: object) => void queued.push({ name, ...data }) }
  const context: PipelineContext = {
    profile,
    zone: createZone(profile.timeZone),
    folders: { ...noFolders, backfill: folder },
    machine: folder,
    store,
    ledger: createLedger(store, () => new Date()),
    queues: queues as unknown as Queues,
    sources: new Map(),
    storeLanding: undefined,
    mdm: driver,
    now: () => new Date(),
    log: pino({ level: 'silent' }),
    notify: () => undefined,
    ...outside.line,
  }
  return { line: context, queued }
}

/** Asks for the history of a meter; its file is queued by itself. */
const fetchHistory = (line: PipelineContext, meterId: string) =>
  backfill(line, meterId, ({ arrival }) => {
    line.queues.add('receive', { v: 1, arrival }).catch(() => undefined)
  })

t.test('the history of a meter is asked for once, and arrives as a file', async (t) => {
  const { line, queued } = createLine(t)
  const meterId = meterIds[0] ?? ''
  t.same(await openHistory(line, [customer(0), customer(0)]), [meterId])
  t.match(await stateOf(0), { state: 'open', commodity: 'Electric' })
  t.same(await openHistory(line, [customer(0)]), [], 'it is open already')
  await queueOpenHistory(line)
  t.same(queued, [{ name: 'backfill', v: 1, meterId }])
  await Promise.all([fetchHistory(line, meterId)])
  await fetchHistory(line, meterId)
  t.equal(await askedFor(meterId), 1)
  const request = await stateOf(0)
  t.match(request, { state: 'answered' })
  const [file, ...others] = await arrivalsOf(request?.arrival)
  t.match(file?.name, /^DEMO_\d{8}_Electric_\d{1,9}\.csv$/)
  t.same(others, [])
  t.equal(file?.whole_by, 'answer')
  const text = readFileSync(file?.path ?? '', 'utf8')
  t.match(text, /^AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit\n/)
  t.equal(text.trim().split('\n').length, 1 + 72)
  t.match(queued.at(-1), { name: 'receive', arrival: request?.arrival })
  t.same(await openHistory(line, [customer(0)]), [], 'nor when it was answered')
  await queueOpenHistory(line)
  t.equal(queued.length, 2)
})

t.test('a later account of a meter has its history asked for again', async (t) => {
  const { line } = createLine(t)
  const meterId = meterIds[11] ?? ''
  const tenants = ['FIRST', 'SECOND', 'FIRST'].map((accountNumber) =>
    customerAt({ clientId: `OF-${accountNumber}`, accountNumber, meterId }),
  )
  const paths = new Set()
  for (const [at, tenant] of tenants.entries()) {
    await register(line, [tenant])
    t.same(await openHistory(line, [tenant]), at < 2 ? [meterId] : [], `registration ${at}`)
    t.same(await openHistory(line, [tenant]), [], 'once')
    await fetchHistory(line, meterId)
    const request = await stateOf(11)
    t.match(request, { state: 'answered' })
    paths.add((await arrivalsOf(request?.arrival))[0]?.path)
  }
  t.equal(await askedFor(meterId), 2)
  t.equal(paths.size, 2, 'what is not loaded yet is not written over')
})

t.test('whoever dies at any step is followed by one who ends it, with one arrival', async (t) => {
  const killed = () => Promise.reject(new Error('killed'))
  const ledger = createLedger(store, () => new Date())
  const dyingLedger: Ledger = { ...ledger, claim: killed }
  const lateLedger: Ledger = { ...ledger, claim: (entry) => ledger.claim(entry).then(killed) }
  const dyingStore = { ...store, insert: killed }
  const deaths: Readonly<Record<string, readonly [Partial<PipelineContext>, number]>> = {
    'before the MDM is asked': [{ mdm: { history: killed, close: async () => undefined } }, 1],
    'before the arrival is claimed': [{ ledger: dyingLedger }, 2],
    'behind the claim': [{ ledger: lateLedger }, 1],
    'before the end is written': [{ store: dyingStore }, 1],
  }
  for (const [index, [name, [death, asked]]] of Object.entries(deaths).entries()) {
    const meterId = meterIds[index + 1] ?? ''
    const { line } = createLine(t)
    await openHistory(line, [customer(index + 1)])
    await t.rejects(fetchHistory({ ...line, ...death }, meterId), /killed/, name)
    await fetchHistory(line, meterId)
    const request = await stateOf(index + 1)
    t.match(request, { state: 'answered' }, name)
    t.equal((await arrivalsOf(request?.arrival)).length, 1, name)
    t.equal(await askedFor(meterId), asked, name)
  }
  const { line, queued } = createLine(t)
  await t.rejects(openHistory({ ...line, store: dyingStore }, [customer(6)]), /killed/)
  await openHistory(line, [customer(6)])
  await queueOpenHistory(line)
  t.match(queued, [{ name: 'backfill', meterId: meterIds[6] }], 'the next call opens it')
  await fetchHistory(line, meterIds[6] ?? '')
})

t.test('an unavailable MDM is asked again, and each wrong answer has its reason', async (t) => {
  const { line } = createLine(t, { settings: { answerBytesMax: '1 MB', timeoutMs: 500 } })
  const meterId = meterIds[7] ?? ''
  await openHistory(line, [customer(7)])
  const faults = {
    down: 'MDM_UNREACHABLE',
    hang: 'MDM_UNREACHABLE',
    refuse: 'MDM_UNREACHABLE',
    huge: 'MDM_UNREACHABLE',
    garbage: 'MDM_ANSWER',
    html: 'MDM_ANSWER',
    empty: 'MDM_ANSWER',
  } as const
  for (const [kind, code] of Object.entries(faults)) {
    await post(`${mdm.url}/faults`, { kind })
    const fault = await fetchHistory(line, meterId).then(
      () => undefined,
      (error: unknown) => error,
    )
    t.ok(fault instanceof Fault && fault.code === code, `${kind}: ${fault}`)
    t.notMatch(String(fault), meterId, 'the meter is not named')
    if (code === 'MDM_ANSWER') t.match(String(fault), /neither CSV nor NDJSON/)
    t.match(await stateOf(7), { state: 'open' }, kind)
  }
  await failHistory(line, meterId, new Fault('MDM_ANSWER', 'no usage'))
  t.match(await stateOf(7), { state: 'failed', reason: 'MDM_ANSWER' })
  await post(`${mdm.url}/faults`, { kind: 'missing' })
  t.same(await openHistory(line, [customer(7)]), [meterId], 'what failed is opened again')
  await fetchHistory(line, meterId)
  t.match(await stateOf(7), { state: 'empty', arrival: 0 }, 'it has none of this meter')
  const times = await askedFor(meterId)
  await fetchHistory(line, meterId)
  t.equal(await askedFor(meterId), times, 'and is not asked again')
  t.same(await openHistory(line, [customer(7)]), [])
  await post(`${mdm.url}/faults`, { kind: 'none' })
})

t.test('an answer that holds rows of other meters is refused as a whole', async (t) => {
  const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
  const meterId = meterIds[9] ?? ''
  const csv = (...meters: readonly string[]) =>
    [header, ...meters.map((meter) => `A,S,${meter},1/2/2026 0:00,1`), ''].join('\r\n')
  const ndjson = (meter: string) =>
    JSON.stringify({ ExternalSiteID: 'S', MeterID: meter, TimeStamp: '1/2/2026', TotalUnit: 1 })
  const whole = { isWhole: true } as const
  const foreign: readonly (readonly [HistoryAnswer, number])[] = [
    [{ ...whole, format: 'csv', text: csv(meterId, meterId, 'M-other') }, 3],
    [{ ...whole, format: 'csv', text: csv(`"${meterId}"`, '"M-other"') }, 2],
    [{ ...whole, format: 'csv', text: csv(`0${meterId}`) }, 1],
    [{ ...whole, format: 'ndjson', text: `${ndjson(meterId)}\n\n${ndjson('M-other')}\n` }, 2],
  ]
  await openHistory(createLine(t).line, [customer(9)])
  for (const [answer, row] of foreign) {
    const mdm = { history: async () => answer, close: async () => undefined }
    await t.rejects(fetchHistory(createLine(t, { line: { mdm } }).line, meterId), {
      code: 'MDM_ANSWER',
      detail: `row ${row} of the MDM's answer is for another meter than the requested one`,
    })
  }
  const [own, other] = [meterId, 'M-other'].map((meter) => `A,S,${meter},1/2/2026 0:00,1,`)
  const hidden = `${header},Quality\n${own}"\n${other}\n"\n`
  const hiding = { ...whole, format: 'csv', text: hidden } as const
  const mdm = { history: async () => hiding, close: async () => undefined }
  await t.rejects(fetchHistory(createLine(t, { line: { mdm } }).line, meterId), {
    code: 'MDM_ANSWER',
    detail: "row 1 of the MDM's answer has a line break in a value",
  })
  t.match(await stateOf(9), { state: 'open' }, 'nothing was handed over')
  const text = csv(`"${meterId}"`, ` ${meterId} `)
  const answering = {
    history: async () => ({ ...whole, format: 'csv', text }) as const,
    close: async () => undefined,
  }
  await fetchHistory(createLine(t, { line: { mdm: answering } }).line, meterId)
  t.match(await stateOf(9), { state: 'answered' }, 'quotes and blanks make no difference')
})

t.test('an answer that only the end of the connection ends may have been cut', async (t) => {
  const meterId = meterIds[10] ?? ''
  const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
  const body = `${header}\nA,S,${meterId},1/2/2026 0:00,12`
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n\r\n${body}`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/usage`
  const { line } = createLine(t, { settings: { url } })
  await openHistory(line, [customer(10)])
  await fetchHistory(line, meterId)
  t.match(await arrivalsOf((await stateOf(10))?.arrival), [{ whole_by: '' }])
})

t.test('NDJSON becomes the rows of a usage file', async (t) => {
  const { line } = createLine(t, { path: '/usage.ndjson' })
  await openHistory(line, [customer(8)])
  await fetchHistory(line, meterIds[8] ?? '')
  const [file] = await arrivalsOf((await stateOf(8))?.arrival)
  const lines = readFileSync(file?.path ?? '', 'utf8').split('\n')
  t.equal(lines[0], 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit')
  t.match(lines[1], new RegExp(`^\\d+,\\d+,${meterIds[8]},\\d+/\\d+/\\d{4} 0:00,1\\.5$`))
  t.notOk(existsSync(`${file?.path}.part`))
})
