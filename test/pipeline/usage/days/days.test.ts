import t from 'tap'
import { claimHeld, register } from '../../../../pipeline/customers/registrations.js'
import { createLedger } from '../../../../pipeline/ledger/ledger.js'
import { eraseDue } from '../../../../pipeline/steps/erase.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import type { Store } from '../../../../pipeline/store/clickhouse.js'
import { buildDays, buildDaysAgain } from '../../../../pipeline/usage/days/build.js'
import { verify } from '../../../../pipeline/verify/verify.js'
import { momentsOf } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { type At, customerAt, registeringAt } from '../../customers/registering.js'
import { dyingStore } from '../../dying.js'
import { createErasing } from '../../erase/erasing.js'
import { sameAsReads, sameDays, sameOfMeter } from './same-days.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { store } = context
const { terminate, find } = createErasing(line)

interface Hours {
  readonly meter: string
  readonly account?: string
  readonly day?: string
  readonly quantity: number
  readonly count?: number
}

const hours = ({ meter, account = 'A', day = '6/1/2024', quantity, count = 24 }: Hours) =>
  Array.from({ length: count }, (_, hour) => {
    return `${account},S-${meter},${meter},${day} ${hour}:00,${quantity + hour}`
  })

async function load(name: string, rows: readonly string[], own = context): Promise<void> {
  const arrival = await takeIn(`DEMO_${name}_Electric.csv`, rows)
  await reconcile(own, arrival)
  await settle(own, arrival)
}

const known = (at: Omit<At, 'externalSiteId'>) =>
  register(registeringAt(store), [customerAt({ externalSiteId: `S-${at.meterId}`, ...at })])

const storedSince = async (meter: string) => {
  const [row] = await find<{ version: string }>(
    `SELECT toString(max(version)) AS version FROM usage_day_row WHERE meter_id = '${meter}'`,
  )
  return Number(row?.version)
}

t.test('days equal their reads after files, repeats, corrections and late files', async (t) => {
  await load('01062024', [
    ...hours({ meter: 'M1', quantity: 1 }),
    ...hours({ meter: 'M2', quantity: -12 }),
    ...hours({ meter: 'M1', quantity: 2, count: 3 }),
  ])
  await sameDays(t, store, 'a file')
  const late = await takeIn('DEMO_02062024_Electric.csv', hours({ meter: 'M1', quantity: 70 }))
  await load('03062024', hours({ meter: 'M1', quantity: 9, count: 2 }))
  await sameDays(t, store, 'a correction')
  const before = await storedSince('M2')
  await reconcile(context, late)
  await settle(context, late)
  await sameDays(t, store, 'a file that is published after a later one')
  t.equal(await storedSince('M2'), before, 'days that it did not touch stay as they are')
  await load('04062024', hours({ meter: 'M2', account: 'C', quantity: 3, count: 5 }))
  await sameDays(t, store, 'reads of another account')
  await load('05062024', [
    ...Array.from({ length: 96 }, (_, at) => {
      const minute = String((at % 4) * 15).padStart(2, '0')
      return `A,S-M2,M2,6/1/2024 ${Math.floor(at / 4)}:${minute},0.5`
    }),
    ...hours({ meter: 'M2', day: '6/2/2024', quantity: 1 }),
  ])
  await sameDays(t, store, 'reads of a finer length')
})

t.test('many meters, so that the file names days only', async (t) => {
  const meters = Array.from({ length: 1_200 }, (_, at) => `N${at}`)
  await load(
    '06062024',
    meters.map((meter) => `A,S-${meter},${meter},6/5/2024 1:00,1`),
  )
  const stale = await find('SELECT meter_id FROM stale_day FINAL WHERE NOT is_built')
  t.same(stale, [{ meter_id: '' }])
  await sameDays(t, store, 'a large file')
  await load('07062024', [
    ...hours({ meter: 'N7', day: '6/5/2024', quantity: 4 }),
    ...hours({ meter: 'N7', day: '6/6/2024', quantity: 4 }),
  ])
  await sameDays(t, store, 'a small file on the same day')
})

t.test('units count as they are registered, now and later', async (t) => {
  await known({ clientId: 'a', accountNumber: 'A', meterId: 'M1', unitOfMeasure: 'Wh' })
  await sameAsReads(t, store, 'a meter that counts in Wh')
  await known({ clientId: 'a', accountNumber: 'A', meterId: 'M1' })
  await known({ clientId: 'c', accountNumber: 'C', meterId: 'M2', unitOfMeasure: 'Wh' })
  await sameAsReads(t, store, 'meters whose unit has changed')
  const [mixed] = await find<{ n: number }>(
    `SELECT toUInt32(count()) AS n FROM meter_unit WHERE unit = ''`,
  )
  t.not(mixed?.n, 0, 'a meter has two units')
  await sameDays(t, store, 'with nothing to store')
})

t.test('held reads count when they are claimed', async (t) => {
  const registered = { ...context.profile, ingestion: 'registered' as const }
  await known({ clientId: 'k', accountNumber: 'K', meterId: 'M4' })
  const rows = [
    ...hours({ meter: 'M4', account: 'K', quantity: 1, count: 4 }),
    ...hours({ meter: 'M4', account: 'N', quantity: 5 }).slice(12),
  ]
  await load('08062024', rows, { ...context, profile: registered })
  await sameDays(t, store, 'held')
  const registering = { ...registeringAt(store), profile: registered }
  const at = { clientId: 'n', accountNumber: 'N', externalSiteId: 'S-M4', meterId: 'M4' }
  await register(registering, [customerAt(at)])
  await claimHeld(registeringAt(store))
  const stale = await find("SELECT meter_id FROM stale_day FINAL WHERE cause = 'claim'")
  t.same(stale, [{ meter_id: 'M4' }])
  await sameDays(t, store, 'claimed')
})

t.test('days of an erased account are gone from the disk', async (t) => {
  await load('09062024', [
    ...hours({ meter: 'M7', account: 'E', quantity: 3, count: 6 }),
    ...hours({ meter: 'M7', account: 'F', quantity: 8 }).slice(12),
    ...hours({ meter: 'M7', account: 'F', day: '6/2/2024', quantity: 8 }),
    ...hours({ meter: 'M8', account: 'E', quantity: 3 }),
  ])
  await sameDays(t, store, 'before')
  await terminate({ account_number: 'E' })
  await eraseDue(context)
  t.same(await find('SELECT rank FROM erasure FINAL'), [{ rank: 3 }])
  await sameDays(t, store, 'erased')
  const sums = await find(`SELECT meter_id, toString(local_day) AS day, intervals FROM usage_day_row
    WHERE meter_id IN ('M7', 'M8') ORDER BY ALL`)
  t.same(sums, [
    { meter_id: 'M7', day: '2024-06-01', intervals: 12 },
    { meter_id: 'M7', day: '2024-06-02', intervals: 24 },
    { meter_id: 'M8', day: '2024-06-01', intervals: 0 },
  ])
})

const isTried = momentsOf(15)

/** Runs a step that dies behind one of its writes, then behind a later one and so on, until it lives. */
async function dieAtEach(step: (own: Store, at: number) => Promise<unknown>): Promise<number> {
  for (let at = 1; ; at++) {
    if (!isTried(at)) continue
    const { mortal, died } = dyingStore(store, { at, when: 'behind' })
    await step(mortal, at).catch((error: unknown) => {
      if (!died()) throw error
    })
    if (!died()) return at - 1
  }
}

t.test('a worker may die behind any write between verdict and stored days', async (t) => {
  const writes = await dieAtEach(async (own, at) => {
    const rows = hours({ meter: 'M1', quantity: 100 + at, count: 1 + (at % 20) })
    const arrival = await takeIn(`DEMO_10062024_Electric_${at}.csv`, rows)
    const mortal = { ...context, store: own, ledger: createLedger(own, context.now) }
    try {
      await reconcile(mortal, arrival)
      await buildDays(own)
    } finally {
      await sameOfMeter(t, store, 'M1')
      await reconcile(context, arrival)
      await settle(context, arrival)
    }
  })
  t.ok(writes > 8, `it has about ${writes} writes`)
  await sameDays(t, store, 'afterwards')
})

t.test('so may an erasure, and the run that goes on with it', async (t) => {
  await load('11062024', [
    ...hours({ meter: 'M9', account: 'G', quantity: 3, count: 6 }),
    ...hours({ meter: 'M9', account: 'H', quantity: 8 }).slice(12),
  ])
  await sameDays(t, store, 'before')
  await terminate({ account_number: 'G' })
  const writes = await dieAtEach(async (own, at) => {
    try {
      await eraseDue({ ...context, store: own, ledger: createLedger(own, context.now) })
    } finally {
      if (at % 4 === 0) while (await buildDays(store));
      await sameOfMeter(t, store, 'M9')
    }
  })
  t.ok(writes > 0)
  t.same(await find("SELECT rank FROM erasure FINAL WHERE account_number = 'G'"), [{ rank: 3 }])
  await sameDays(t, store, 'afterwards')
})

t.test('two runs at once store the same', async (t) => {
  await load('12062024', hours({ meter: 'M1', quantity: 300, count: 3 }))
  await Promise.all([buildDays(store), buildDays(store), buildDays(store)])
  await sameDays(t, store, 'afterwards')
})

t.test('stored days that differ from their reads are found, and made again', async (t) => {
  await load('13062024', hours({ meter: 'M1', day: '6/3/2024', quantity: 1 }))
  await sameDays(t, store, 'before')
  const damage = async () => (await verify(context, { files: false, lookMs: 1 })).damage
  t.same(await damage(), [])
  for (const lose of [
    "ALTER TABLE usage_day_row DELETE WHERE local_day = '2024-06-03'",
    "ALTER TABLE usage_read DELETE WHERE local_day = '2024-06-03' AND local_hour < 5",
  ]) {
    await store.command({ sql: lose, settings: { mutations_sync: 1 } })
    const [found] = (await damage()).filter(({ kind }) => kind === 'days')
    t.match(found, { subject: '2024-06-03', rows: 1, detail: /1 meters on 2024-06-03/ })
    await buildDaysAgain(store, ['2024-06-03'])
    await sameDays(t, store, 'made again')
  }
})
