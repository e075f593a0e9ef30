import { t } from 'tap'
import type { Ami, AmiMeter, AmiOutcome } from '../../../api/ami/ami.js'
import { createActions } from '../../../api/bind/actions.js'
import { executeBind, lookUp } from '../../../api/bind/execute.js'
import { Fault } from '../../../schemas/fault.js'
import type { BindRequest } from '../../../schemas/gateway/bind-request.js'
import { migratedStore } from '../../pipeline/customers/registering.js'

const store = await migratedStore(t)
const inFlightMs = 15_000
let hubs = 0

interface HeadEnd {
  meter: AmiMeter
  answer: AmiOutcome | Fault
  /** What happens while it is asked for the meter. */
  meanwhile(): Promise<unknown>
  /** Resolves when it answers an action. */
  held(): Promise<unknown>
}

/** A gateway before a head-end with one meter; `sent` has the ids of what it was sent. */
function createGateway() {
  let clock = Date.now()
  const now = () => new Date(clock)
  const sent: string[] = []
  const meter = { meterId: 'M-1', isAMI: true, boundTo: undefined, pendingFor: undefined }
  const headEnd: HeadEnd = {
    meter,
    answer: 'success',
    meanwhile: async () => undefined,
    held: async () => undefined,
  }
  const ami: Ami = {
    locate: async () => 'M-1',
    meter: async () => {
      await headEnd.meanwhile()
      return headEnd.meter
    },
    act: async ({ actionId }) => {
      sent.push(actionId)
      await headEnd.held()
      if (headEnd.answer instanceof Fault) throw headEnd.answer
      return headEnd.answer
    },
    close: async () => undefined,
  }
  const macAddress = `00:11:22:AA:CC:${String(hubs++).padStart(2, '0')}`
  const wanted: BindRequest = {
    hemProfileId: 'P',
    accountSlid: 'S',
    macAddress,
    installCode: '83FED3407A939723A5C639B26916D505C3B5',
    actionCode: 1,
  }
  const actions = createActions({ store, key: 'key', now })
  const options = { ami, actions, inFlightMs, now }
  return {
    headEnd,
    sent,
    wanted,
    pass: (ms: number) => {
      clock += ms
    },
    ask: (more: Partial<BindRequest> = {}) => executeBind(options, { ...wanted, ...more }),
    look: () => lookUp(options, macAddress),
    /** What a gateway leaves behind that dies between its claim and the head-end. */
    die: async (more: Partial<BindRequest> = {}) =>
      actions.claim({ ...wanted, ...more }, 'M-1', await actions.latest(macAddress)),
  }
}

t.test('an action whose gateway died is in flight for a while, then asked after', async (t) => {
  const { ask, look, die, pass, sent } = createGateway()
  const claimed = await die()
  t.match(await ask(), { state: 'pending', claim: claimed?.claim })
  t.match(await look(), { state: 'pending' })
  t.same(sent, [], 'nobody knows yet that it died')
  pass(inFlightMs)
  t.match(await look(), { state: 'unknown' })
  t.match(await ask(), { state: 'success' })
  t.same(sent, [claimed?.claim], 'the meter showed nothing: it is sent under its first id')
  t.match(await ask(), { state: 'success' })
  t.equal(sent.length, 1)
})

t.test('what the meter shows is not sent again', async (t) => {
  const { ask, look, die, pass, sent, headEnd, wanted } = createGateway()
  await die()
  pass(inFlightMs)
  headEnd.meter = { ...headEnd.meter, pendingFor: wanted.macAddress }
  t.match(await ask(), { state: 'pending' }, 'the head-end is at it')
  headEnd.meter = { ...headEnd.meter, boundTo: wanted.macAddress, pendingFor: undefined }
  t.match(await look(), { state: 'success' })
  t.match(await ask(), { state: 'success' })
  t.same(sent, [])
})

t.test('a meter that another hub has taken meanwhile is left to it', async (t) => {
  const { ask, look, die, pass, sent, headEnd } = createGateway()
  await die()
  pass(inFlightMs)
  headEnd.meter = { ...headEnd.meter, boundTo: '00:00:00:00:00:01' }
  t.match(await ask(), { detail: 'the meter is bound to another hub' })
  t.match(await look(), { state: 'failed', reason: 'METER_TAKEN' })
  t.same(sent, [])
})

t.test('a gateway that was held up does not undo the success of another', async (t) => {
  const late: readonly (readonly [AmiOutcome | Fault, object])[] = [
    ['refused', { state: 'failed' }],
    ['pending', { state: 'pending' }],
    [new Fault('AMI_UNREACHABLE', 'no answer'), { code: 'AMI_UNREACHABLE' }],
  ]
  for (const [answer, outcome] of late) {
    const { ask, look, pass, sent, headEnd } = createGateway()
    let answers: () => void = () => undefined
    let arrives: () => void = () => undefined
    const arrived = new Promise<void>((resolve) => {
      arrives = resolve
    })
    headEnd.held = () => {
      arrives()
      return new Promise<void>((resolve) => {
        answers = resolve
      })
    }
    const first = ask().catch((error: unknown) => error)
    await arrived
    pass(inFlightMs)
    headEnd.held = async () => undefined
    t.match(await ask(), { state: 'success' })
    headEnd.answer = answer
    answers()
    t.match(await first, outcome)
    t.match(await look(), { state: 'success' })
    t.match(await ask(), { state: 'success' })
    t.equal(new Set(sent).size, 1)
  }
})

t.test('a head-end without an answer leaves the action open, under one id', async (t) => {
  const { ask, look, sent, headEnd } = createGateway()
  for (const code of ['AMI_UNREACHABLE', 'AMI_ANSWER'] as const) {
    headEnd.answer = new Fault(code, 'no answer')
    await t.rejects(ask(), { code })
    t.match(await look(), { state: 'unknown', reason: code })
  }
  headEnd.answer = 'success'
  t.match(await ask(), { state: 'success' })
  t.equal(sent.length, 3)
  t.equal(new Set(sent).size, 1)
})

t.test('what was refused may be asked for again, as an action of its own', async (t) => {
  const { ask, sent, headEnd } = createGateway()
  headEnd.answer = 'refused'
  t.match(await ask(), { state: 'failed', reason: 'REFUSED' })
  headEnd.answer = 'success'
  t.match(await ask(), { state: 'success' })
  t.equal(new Set(sent).size, 2)
})

t.test('an action that the head-end took on and lost has failed after a while', async (t) => {
  const { ask, look, pass, sent, headEnd } = createGateway()
  headEnd.answer = 'pending'
  t.match(await ask(), { state: 'pending' })
  pass(899_000)
  t.match(await ask(), { state: 'pending' })
  pass(1_000)
  t.match(await ask(), { state: 'failed', reason: 'LOST' })
  t.match(await look(), { state: 'failed' })
  t.equal(sent.length, 1, 'and is sent again only when it is asked for again')
})

t.test('of two requests for one hub one is first, and the other gets its outcome', async (t) => {
  const { ask, die, sent, headEnd } = createGateway()
  headEnd.meanwhile = () => die({ hemProfileId: 'another' })
  await t.rejects(ask(), { code: 'OVERLOAD' })
  t.same(sent, [])
})
