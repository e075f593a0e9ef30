import t from 'tap'
import { testZone } from '../../../infra/schema/zone-test.js'
import { createZone } from '../../../schemas/time/zone.js'
import { migratedStore } from '../../pipeline/customers/registering.js'

const store = await migratedStore(t)

t.test('the engine has the time zone data of Node.js', async (t) => {
  for (const timeZone of [
    'America/New_York',
    'America/Sao_Paulo',
    'America/Phoenix',
    'Europe/Berlin',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'UTC',
  ]) {
    await t.resolves(testZone(store, createZone(timeZone)), timeZone)
  }
})

t.test('a zone whose clocks differ is refused by the instant', async (t) => {
  const now = new Date('2026-11-24T00:00:00Z')
  const [own, other] = [createZone('Europe/Berlin'), createZone('Europe/London')]
  const moved = { ...other, timeZone: own.timeZone }
  await t.rejects(testZone(store, moved, now), {
    code: 'STORE_REFUSED',
    detail:
      /Europe\/Berlin is at UTC\+0 on 2016-\S+Z in the time zone data of Node.js \(20\d\d.\) and at UTC\+1 in that of ClickHouse; update the older one/,
  })
  const change = Date.UTC(2025, 2, 30, 1) / 1_000
  const late = {
    ...own,
    toWall: (at: number) => own.toWall(at >= change && at < change + 3_600 ? change - 1 : at),
  }
  await t.rejects(testZone(store, late, now), {
    code: 'STORE_REFUSED',
    detail: /on 2025-03-30T01:00:00.000Z/,
  })
})
