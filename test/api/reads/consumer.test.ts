import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { endClients, register } from '../../../pipeline/customers/registrations.js'
import { publishAnnounced } from '../../../pipeline/ledger/announced.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sql } from '../../../pipeline/store/sql.js'
import { createLineByHand } from '../../pipeline/by-hand.js'
import {
  customerAt,
  publishFile,
  readerOf,
  registeringAt,
} from '../../pipeline/customers/registering.js'
import { createFolder } from '../../rig/folder.js'
import { randomFrom, sample } from '../../rig/sample.js'
import { createPlatform, nothingKept, readKept } from './consumer.js'
import { readingOf } from './rig.js'

const line = await createLineByHand(t)
const { store } = line.context
const seed = Date.now() & 0x7fffffff
const random = randomFrom(seed)
const below = (count: number) => Math.floor(random() * count)
let batch = 0
let files = 0

/** A customer, account and meter of the batch: two accounts and customers share each meter. */
function anyone() {
  const [meter, tenant] = [below(2), below(2)]
  return {
    clientId: `c${batch}-${meter}-${tenant}`,
    accountNumber: `A${batch}-${meter}-${tenant}`,
    meterId: `M${batch}-${meter}`,
  }
}

const day = (at: number) => new Date(Date.UTC(2026, 0, at, 17))

const steps: Readonly<Record<string, () => Promise<unknown>>> = {
  register: () =>
    register(
      registeringAt(store, () => day(1 + below(20))),
      [customerAt(anyone())],
    ),
  end: () =>
    endClients(
      registeringAt(store, () => day(5 + below(20))),
      [anyone().clientId],
      'closed',
    ),
  load: async () => {
    files++
    const rows = Array.from({ length: 12 }, () => {
      const { accountNumber, meterId } = anyone()
      return `${accountNumber},S,${meterId},1/${2 + below(6)}/2026 ${below(24)}:00,${1 + below(99)}`
    })
    const name = `DEMO_${String(1 + (files % 28)).padStart(2, '0')}022026_Electric_${files}.csv`
    const arrival = await line.takeIn(name, rows)
    await reconcile(line.context, arrival)
    await settle(line.context, arrival)
  },
  erase: async () => {
    const { accountNumber } = anyone()
    const { arrival } = await line.arrive('DEMO_01012026_Terminations.csv', [])
    const version = String(BigInt(arrival) * 2n ** 32n + 2n)
    const row = { account_number: accountNumber, external_site_id: '', meter_id: '', version }
    await store.insert('termination_row', [{ ...row, termination_date: '2026-01-20' }])
    const more = { settled_at: new Date().toISOString() }
    await publishFile(store, { arrival, feed: 'Terminations', more })
    await eraseDue(line.context)
  },
}
const names = ['register', 'load', 'register', 'load', 'end', 'load', 'erase', 'register', 'load']

async function expected(): Promise<ReadonlyMap<string, number>> {
  const found = await store.rows<Readonly<Record<'client' | 'meter' | 'start' | 'q', string>>>({
    sql: sql`SELECT client, meter, start, toString(quantity) AS q FROM
      (
        SELECT arrayJoin(client_ids) AS client, meter_id AS meter, quantity, seconds,
          formatDateTime(starts_at, '%Y-%m-%dT%H:%i:%SZ') AS start, min(seconds) OVER (PARTITION BY client, meter_id, local_day) AS finest
        FROM registered_usage
      )
      WHERE seconds = finest`,
  })
  return new Map(
    found.map(({ client, meter, start, q }) => [`${client} ${meter} ${start}`, Number(q)]),
  )
}

const now = '2026-02-10T12:00:00Z'

/** A platform that begins again whenever it has died. */
interface Mortal {
  readonly rows: () => ReadonlyMap<string, number>
  readonly deaths: () => number
  readonly pull: () => Promise<void>
}

/** It dies before some of its requests. */
function createThrowing(t: Test): Mortal {
  const kept = nothingKept()
  let deaths = 0
  const asks = () => {
    if (random() >= 0.2) return
    deaths++
    throw new RangeError('killed')
  }
  const pullOnce = createPlatform(readingOf(t, store, { now: () => new Date(now) }), kept, { asks })
  const pull = (): Promise<void> =>
    pullOnce().catch((error) => {
      if (!(error instanceof RangeError)) throw error
      return pull()
    })
  return { rows: () => kept.rows, deaths: () => deaths, pull }
}

/** A process of its own, which is killed at some moment of most pulls. */
function createProcess(t: Test): Mortal {
  const program = fileURLToPath(new URL('consumer-process.js', import.meta.url))
  const path = join(createFolder(t), 'kept.json')
  let [deaths, pullMs] = [0, 500]
  const pull = async (): Promise<void> => {
    const child = fork(program, [JSON.stringify(readerOf(store)), path, now])
    const ended = once(child, 'exit')
    await once(child, 'message')
    const began = Date.now()
    // Some are let be: on a slow machine a page may take longer than the pull before.
    const timer = setTimeout(() => random() < 0.8 && child.kill('SIGKILL'), random() * pullMs)
    const [code, signal] = await ended
    clearTimeout(timer)
    if (signal === 'SIGKILL') {
      deaths++
      return pull()
    }
    t.equal(code, 0)
    pullMs = Date.now() - began
  }
  return { rows: () => readKept(path).rows, deaths: () => deaths, pull }
}

async function endsEqual(t: Test, platform: Mortal, deathsMin: number): Promise<void> {
  let size = 0
  // The first batch may have erased the only account that was registered.
  while (platform.deaths() < deathsMin || size === 0) {
    batch++
    const done: string[] = []
    for (const name of names) {
      await steps[name]?.()
      done.push(name)
      if (random() < 0.7) await platform.pull()
    }
    await publishAnnounced(line.context, 0)
    await platform.pull()
    const view = await expected()
    t.same(Object.fromEntries(platform.rows()), Object.fromEntries(view), done.join())
    size = view.size
  }
}

t.test(`a platform that dies at random ends equal to the view (seed ${seed})`, (t) =>
  endsEqual(t, createThrowing(t), sample({ short: 1, long: 1_000 })),
)

t.test(`so does one whose process is killed at random (seed ${seed})`, (t) =>
  endsEqual(t, createProcess(t), sample({ short: 1, long: 1_000 })),
)
