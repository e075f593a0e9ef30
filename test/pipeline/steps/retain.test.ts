import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { recordHealed } from '../../../pipeline/ledger/healed.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { blankState } from '../../../pipeline/steps/receive.js'
import { retain, retainMachine } from '../../../pipeline/steps/retain.js'
import { sweepMachine } from '../../../pipeline/steps/sweep.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createFolder } from '../../rig/folder.js'
import { statementText } from '../../rig/statements/statement-text.js'
import { storyProfile } from '../../story/rig/stack.js'
import { migratedStore } from '../customers/registering.js'

const dayMs = 86_400_000
const nowMs = Date.UTC(2025, 5, 1)

t.test('what has been kept long enough is removed, and nothing else', async (t) => {
  const store = await migratedStore(t)
  const now = () => new Date(nowMs)
  const ledger = createLedger(store, now)
  const home = createFolder(t)
  const at = (...names: string[]) => join(home, ...names)
  for (const name of ['archive', 'quarantine', 'outbox/arrivals', 'uploads']) {
    mkdirSync(at(name), { recursive: true })
  }
  const folders = {
    ...{ inbox: '', landing: at('landing'), backfill: '', pushed: '' },
    archive: at('archive'),
    quarantine: at('quarantine'),
    outbox: at('outbox'),
    uploads: at('uploads'),
  }
  const profile = storyProfile({
    profile: { retention: { archiveDays: 10, rejectsDays: 20, stagingDays: 1 } },
  })
  const zone = createZone(profile.timeZone)
  const line = {
    profile,
    folders,
    store,
    ledger,
    now,
    zone,
    machine: 'here',
  } as unknown as Parameters<typeof retain>[0]

  /** A file of the archive that ended so many days ago; the sender's time of it is years back. */
  const archived = async (days: number | undefined) => {
    const entry = { source: 'inbox', name: 'a.csv', path: '/in/a.csv', bytes: 1, modifiedMs: 1 }
    const arrival = await ledger.claim({ ...entry, force: false })
    const settledAt = days === undefined ? undefined : new Date(nowMs - days * dayMs)
    await ledger.record({ ...blankState(line, arrival), status: 'published', settledAt })
    await store.insert('reject', [{ arrival: arrival.arrival, line: 2, code: 'NOT_A_NUMBER' }])
    const path = at('archive', `${arrival.arrival}-a.csv`)
    writeFileSync(path, 'bytes')
    utimesSync(path, new Date(0), new Date(0))
  }
  const written = (path: string, days: number) => {
    writeFileSync(at(path), 'x')
    utimesSync(at(path), new Date(nowMs - days * dayMs), new Date(nowMs - days * dayMs))
  }
  for (const days of [21, 11, 9, undefined]) await archived(days)
  written('archive/note.txt', 900)
  written('outbox/old.csv.receipt.json', 21)
  written('outbox/cut.csv.receipt.json.7.part', 21)
  written('outbox/new.csv.receipt.json', 19)
  written('outbox/arrivals/1-old.csv.rejects.csv', 21)
  written('uploads/a.part', 2)
  written('uploads/b.part', 0.5)
  written('uploads/whole.csv', 30)

  const healed = async (days: number) => {
    const at = new Date(nowMs - days * dayMs)
    const one = { kind: 'source', code: '', detail: '', beganAt: at, healedAt: at } as const
    await recordHealed(store, { ...one, subject: `${days} days` })
  }
  for (const days of [6, 8]) await healed(days)

  for (const _ of ['once', 'again']) {
    await retain(line)
    await retainMachine(line)
    t.same(readdirSync(folders.archive).sort(), ['3-a.csv', '4-a.csv', 'note.txt'])
    t.same(readdirSync(folders.outbox).sort(), ['arrivals', 'new.csv.receipt.json'])
    t.notOk(existsSync(at('outbox/arrivals/1-old.csv.rejects.csv')))
    t.same(readdirSync(folders.uploads).sort(), ['b.part', 'whole.csv'])
    const rows = await store.rows({ sql: 'SELECT arrival FROM reject ORDER BY arrival' })
    t.same(rows, [{ arrival: 2 }, { arrival: 3 }, { arrival: 4 }])
  }
  const left = () => store.rows({ sql: 'SELECT subject FROM healed FINAL ORDER BY subject' })
  t.same(await left(), [{ subject: '6 days' }, { subject: '8 days' }])
  const refuse: Store['rows'] = (statement) => {
    const isOfRejects = statementText(statement).includes('FROM reject')
    return isOfRejects ? Promise.reject(new Error('no such thing')) : store.rows(statement)
  }
  const refusing = { ...line, store: { ...store, rows: refuse } }
  await t.rejects(retain(refusing, { night: true }), /no such thing/)
  t.same(
    await left(),
    [{ subject: '6 days' }],
    'at night what healed a week ago is deleted, also behind a step that fails',
  )

  for (const name of ['1', '2', '2.file', '2.file.3', '4', '5', '2147483650', 'note']) {
    mkdirSync(at('landing', name), { recursive: true })
  }
  const asked: string[] = []
  const rows: Store['rows'] = (statement) => {
    asked.push(statementText(statement))
    return store.rows(statement)
  }
  const counted = { ...store, rows }
  await sweepMachine({ ...line, store: counted, ledger: createLedger(counted, now) })
  t.same(readdirSync(at('landing')).sort(), ['2147483650', '4', '5', 'note'])
  const ofFiles = asked.filter((text) => text.includes('file_state'))
  t.equal(ofFiles.length, 1, 'one statement asks for the files of all landings')
})
