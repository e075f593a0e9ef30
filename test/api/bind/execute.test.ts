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
  /** Shows the effect of an action on the meter. */
  apply(boundTo: string | undefined): void
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
    apply: (boundTo) => {
      headEnd.meter = { ...headEnd.meter, boundTo, pendingFor: undefined }
    },
    meanwhile: async () => undefined,
    held: async () => undefined,
  }
  const ami: Ami = {
    locate: async () => headEnd.meter.meterId,
    meter: async () => {
      await headEnd.meanwhile()
      return headEnd.meter
    },
    act: async ({ actionId, actionCode }) => {
      sent.push(actionId)
      await headEnd.held()
      if (headEnd.answer instanceof Fault) throw headEnd.answer
      if (headEnd.answer === 'success')
        headEnd.apply(actionCode === 1 ? wanted.macAddress : undefined)
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
    die: async (more: Partial<BindRequest> = {}) => {
      const [latest] = await actions.recent(macAddress)
      return actions.claim({ ...wanted, ...more }, 'M-1', latest)
    },
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

t.test(
  'an open action is undone by an action, not by the state that it has not changed yet',
  async (t) => {
    const open: readonly (readonly [AmiOutcome | Fault, boolean])[] = [
      ['pending', true],
      ['pending', false],
      [new Fault('AMI_UNREACHABLE', 'no answer'), false],
    ]
    for (const actionCode of [0, 1] as const) {
      for (const [answer, isShown] of open) {
        const { ask, look, sent, headEnd, wanted } = createGateway()
        const { macAddress } = wanted
        const undone = { actionCode: actionCode === 1 ? 0 : 1 } as const
        const state = { ...headEnd.meter, boundTo: actionCode === 1 ? undefined : macAddress }
        headEnd.meter = state
        headEnd.answer = answer
        await ask({ actionCode }).catch(() => undefined)
        if (isShown) headEnd.meter = { ...state, pendingFor: macAddress }
        headEnd.answer = new Fault('AMI_UNREACHABLE', 'no answer')
        await t.rejects(ask(undone), { code: 'AMI_UNREACHABLE' })
        t.match(await look(), { state: 'unknown' }, 'the meter shows the state before both')
        headEnd.answer = 'pending'
        t.match(await ask(undone), { state: 'pending' })
        t.equal(sent.length, 3, 'sent until the head-end has it')
        t.equal(new Set(sent).size, 2)
        if (isShown) t.match(await ask(undone), { state: 'pending' })
        headEnd.meter = state
        t.match(await ask(undone), { state: 'success' })
        t.equal(sent.length, 3)
      }
    }
  },
)

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

t.test('a success is answered again while the meter shows it', async (t) => {
  const { ask, look, sent, headEnd, wanted } = createGateway()
  t.match(await ask(), { state: 'success', meterId: 'M-1' })
  t.match(await ask(), { state: 'success' })
  t.equal(sent.length, 1)
  headEnd.meter = { ...headEnd.meter, meterId: 'M-2', boundTo: undefined }
  t.match(await ask(), { state: 'success', meterId: 'M-2' }, 'the meter was exchanged')
  t.equal(sent.length, 2)
  headEnd.apply(undefined)
  t.match(await ask(), { state: 'success' }, 'it was unbound at the head-end')
  t.equal(sent.length, 3)
  headEnd.apply('00:00:00:00:00:01')
  t.match(await ask(), { detail: 'the meter is bound to another hub' })
  headEnd.apply(wanted.macAddress)
  headEnd.meanwhile = async () => {
    throw new Fault('AMI_UNREACHABLE', 'no answer')
  }
  t.match(await ask(), { state: 'success' }, 'without the head-end the record answers')
  await t.rejects(ask({ actionCode: 0 }), { code: 'AMI_UNREACHABLE' })
  headEnd.meanwhile = async () => undefined
  t.match(await ask({ actionCode: 0 }), { state: 'success' })
  headEnd.apply('00:00:00:00:00:01')
  t.match(await ask({ actionCode: 0 }), { state: 'success' }, 'this hub is unbound all the same')
  headEnd.apply(wanted.macAddress)
  t.match(await ask({ actionCode: 0 }), { state: 'success' })
  t.equal(sent.length, 5)
  t.match(await look(), { state: 'success', actionCode: 0 })
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
  for (const isAsked of [true, false]) {
    const { ask, look, pass, sent, headEnd, wanted } = createGateway()
    headEnd.answer = 'pending'
    t.match(await ask(), { state: 'pending' })
    pass(899_000)
    t.match(await ask(), { state: 'pending' })
    t.match(await look(), { state: 'pending' })
    pass(1_000)
    headEnd.meanwhile = async () => {
      throw new Fault('AMI_UNREACHABLE', 'no answer')
    }
    t.match(await look(), { state: 'unknown' }, 'it may have been done')
    headEnd.meanwhile = async () => undefined
    headEnd.meter = { ...headEnd.meter, pendingFor: wanted.macAddress }
    t.match(await look(), { state: 'pending' }, 'the head-end is still at it')
    headEnd.meter = { ...headEnd.meter, pendingFor: undefined }
    t.match(await (isAsked ? ask() : look()), { state: 'failed', reason: 'LOST' })
    t.match(await look(), { state: 'failed' })
    t.equal(sent.length, 1, 'and is sent again only when it is asked for again')
  }
})

t.test('of two requests for one hub one is first, and the other gets its outcome', async (t) => {
  const { ask, die, sent, headEnd } = createGateway()
  headEnd.meanwhile = () => die({ hemProfileId: 'another' })
  await t.rejects(ask(), { code: 'OVERLOAD' })
  t.same(sent, [])
})
