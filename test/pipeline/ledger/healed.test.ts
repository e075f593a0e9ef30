import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  forgetHealed,
  type Outage,
  readHealed,
  recordHealed,
} from '../../../pipeline/ledger/healed.js'
import { createSystems, readFailingSystems } from '../../../pipeline/ledger/systems.js'
import { Fault } from '../../../schemas/fault.js'
import { type Profile, parseProfile } from '../../../schemas/settings/profile.js'
import { until } from '../../story/rig/stack.js'
import { migratedStore } from '../customers/registering.js'

const minuteMs = 60_000
const dayMs = 86_400_000
const nowMs = Date.UTC(2025, 5, 20)
const now = new Date(nowMs)
const store = await migratedStore(t)

const profileWith = (sections: object) =>
  parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    cis: { kind: 'rest', url: 'https://cis.example' },
    ami: { kind: 'rest', url: 'https://ami.example' },
    ...sections,
  })

/** An outage that began and ended so many minutes ago. */
const ago = (subject: string, from: number, to: number): Outage => ({
  kind: 'system',
  subject,
  beganAt: new Date(nowMs - from * minuteMs),
  healedAt: new Date(nowMs - to * minuteMs),
  code: 'CIS_UNREACHABLE',
  detail: 'no response',
})
const of = async (subject: string) => {
  const all = await readHealed(store, now)
  return all.filter((one) => one.subject === subject)
}

t.test('failures that follow each other within minutes are one row', async (t) => {
  await recordHealed(store, ago('flaps', 60, 50))
  await recordHealed(store, ago('flaps', 46, 40))
  t.match(await of('flaps'), [{ ...ago('flaps', 60, 40), times: 2 }])
  await recordHealed(store, ago('flaps', 34, 33))
  const rows = await of('flaps')
  t.match(rows, [{ times: 1 }, { times: 2 }], 'one that comes later has its own, the latest first')
  t.equal(rows.length, 2)
})

t.test('what is recorded twice, or seen by two processes, counts once', async (t) => {
  for (const from of [30, 30, 29]) await recordHealed(store, ago('seen', from, 25))
  await recordHealed(store, { ...ago('seen', 30, 25), kind: 'source' })
  t.match(await of('seen'), [
    { kind: 'source', times: 1 },
    { kind: 'system', times: 1 },
  ])
})

t.test('a clock that is set back during an outage does not end it before it began', async (t) => {
  await recordHealed(store, ago('jumps', 10, 20))
  await recordHealed(store, ago('jumps', 10, 20))
  t.same(await of('jumps'), [{ ...ago('jumps', 20, 20), times: 1 }])
})

t.test('it is shown for a week and deleted afterwards', async (t) => {
  const day = 24 * 60
  await recordHealed(store, ago('kept', 7 * day, 7 * day - 1))
  await recordHealed(store, ago('old', 7 * day + 2, 7 * day + 1))
  t.equal((await of('kept')).length, 1)
  t.same(await of('old'), [])
  const stored = async () => {
    const rows = await store.rows<{ subject: string }>({
      sql: `SELECT subject FROM healed FINAL WHERE subject IN ('kept', 'old')`,
    })
    return rows.map(({ subject }) => subject)
  }
  t.same((await stored()).sort(), ['kept', 'old'])
  await forgetHealed(store, now)
  t.same(await stored(), ['kept'])
  await forgetHealed(store, new Date(nowMs + 8 * dayMs))
  t.same(await stored(), [])
})

t.test('a system that failed and answers again has healed, also after a restart', async (t) => {
  const failures: Fault[] = []
  const create = () =>
    createSystems({
      store,
      profile: profileWith({}),
      kinds: ['cis', 'ami'],
      onFailure: (fault) => failures.push(fault),
    })
  const healed = async () => {
    const rows = await readHealed(store, new Date())
    return rows.filter(({ subject }) => subject === 'cis' || subject === 'ami')
  }
  const systems = create()
  const down = new Fault('CIS_UNREACHABLE', 'no response from the CIS')
  systems.report('cis', down)
  systems.report('ami', new Fault('AMI_UNREACHABLE', 'no response'))
  await systems.close()
  t.same(await healed(), [], 'not while it fails')
  const again = create()
  again.report('cis', undefined)
  await again.close()
  const rows = await healed()
  t.match(rows, [{ subject: 'cis', times: 1, code: down.code, detail: down.detail }])
  t.equal(rows.length, 1)
  t.same(failures, [])
})

t.test('a good answer ends what another process recorded before it, which is gone', async (t) => {
  const options = { store, profile: profileWith({}), kinds: ['cis'], lookMs: 0 }
  const create = () => createSystems({ ...options, onFailure: (one) => t.fail(one.message) })
  const isFailing = async () => {
    const failing = await readFailingSystems(store, options.profile)
    return failing.some(({ system }) => system === 'cis')
  }
  const staying = create()
  staying.report('cis', undefined)
  await sleep(3_000)
  const gone = create()
  gone.report('cis', new Fault('CIS_UNREACHABLE', 'no response from the CIS'))
  await gone.close()
  await sleep(3_000)
  t.ok(await isFailing(), 'its own good answer was earlier')
  staying.report('cis', undefined)
  await until(async () => !(await isFailing()))
  const [healed] = await readHealed(store, new Date())
  t.match(healed, { subject: 'cis', code: 'CIS_UNREACHABLE' })
  await staying.close()
})

t.test('a provider that was replaced does not fail for ever', async (t) => {
  const oidc = (issuer: string) => ({
    kind: 'oidc',
    claim: 'sub',
    issuers: [{ issuer, audience: 'tieline' }],
  })
  const opaque = {
    kind: 'introspection',
    claim: 'sub',
    url: 'https://opaque.example/introspect',
    clientId: 'tieline',
    clientSecret: { env: 'SECRET' },
  }
  const before = profileWith({ identity: oidc('https://mistyped.example') })
  const providers = [oidc('https://login.example'), opaque]
  const after = profileWith({ identity: { kind: 'several', providers } })
  const create = (profile: Profile) =>
    createSystems({ store, profile, kinds: ['identity'], onFailure: (one) => t.fail(one.message) })
  const names = async (profile: Profile) =>
    (await readFailingSystems(store, profile)).map(({ system }) => system)
  const down = new Fault('IDENTITY_UNREACHABLE', 'no response')
  const first = create(before)
  first.report('identity https://mistyped.example', down)
  first.report('identity https://opaque.example', down)
  await first.close()
  t.ok((await names(before)).includes('identity https://mistyped.example'))
  t.same(await names(after), ['ami', 'identity https://opaque.example'])
  const second = create(after)
  await second.close()
  t.match(second.failing(), [{ system: 'identity https://opaque.example' }], 'it is called')
  t.equal(second.failing().length, 1)
  t.same(await names(before), ['ami'], 'nor is it shown to who reads with the former profile')
})
