import { Fault } from '../../schemas/fault.js'
import type { BindRequest } from '../../schemas/gateway/bind-request.js'
import type { Ami, AmiMeter } from '../ami/ami.js'
import type { Action, ActionState, Actions } from './actions.js'

export interface ExecuteOptions {
  readonly ami: Ami
  readonly actions: Actions
  /** How long an action claimed by another request counts as in flight, milliseconds. */
  readonly inFlightMs: number
  readonly now: () => Date
  /** Called with a new action before it is sent to the head-end. */
  readonly onClaimed?: (action: Action) => Promise<void>
}

/** Why a valid request is refused; sent as a 400. */
export interface BindRefusal {
  readonly detail: string
}

/** The head-end has accepted the action and is processing it. */
const accepted = 'ACCEPTED'
/** After this time an accepted action without an effect on the meter has failed. */
const acceptedMsMax = 900_000

/**
 * Executes a bind request, or finds the outcome of the same request. Throws the faults of head-end and
 * store, and `OVERLOAD` if another request for the hub was first.
 */
export async function executeBind(
  options: ExecuteOptions,
  wanted: BindRequest,
): Promise<Action | BindRefusal> {
  const { actions, ami } = options
  const latest = await actions.latest(wanted.macAddress)
  const same = latest?.requestHash === actions.hashOf(wanted) ? latest : undefined
  if (same !== undefined && (same.state === 'success' || isInFlight(options, same))) return same
  const meterId = wanted.meterId ?? (await ami.locate(wanted.accountSlid))
  if (meterId === undefined) return { detail: 'accountSlid is not known to the head-end' }
  const meter = await ami.meter(meterId)
  if (meter === undefined) return { detail: 'meterId is not known to the head-end' }
  if (!meter.isAMI) return { detail: 'the meter is not an AMI meter' }
  if (same !== undefined && same.state !== 'failed') {
    return resume(options, { wanted, meter, action: same })
  }
  const refusal = judgeMeter(wanted, meter)
  if (refusal !== undefined) return refusal
  const action = await actions.claim(wanted, meterId, latest)
  if (action === undefined) {
    throw new Fault('OVERLOAD', 'another request for this hub was first; ask for its outcome')
  }
  await options.onClaimed?.(action)
  if (reached(action, meter)) return actions.record(action, { state: 'success', reason: '' })
  return send(options, wanted, action)
}

/** The hub's latest action, updated from the meter's state if the head-end responds. */
export async function lookUp(
  options: ExecuteOptions,
  macAddress: string,
): Promise<Action | undefined> {
  const { actions, ami } = options
  const action = await actions.latest(macAddress)
  if (action === undefined || action.state === 'success' || action.state === 'failed') return action
  const meter = await ami.meter(action.meterId).catch((error: unknown) => {
    if (error instanceof Fault) return undefined
    throw error
  })
  if (meter !== undefined && reached(action, meter)) {
    return actions.record(action, { state: 'success', reason: '' })
  }
  const isPending = isInFlight(options, action) || action.reason === accepted
  return { ...action, state: isPending ? 'pending' : 'unknown' }
}

/** Claimed by a gateway that may still be executing it. */
function isInFlight({ inFlightMs, now }: ExecuteOptions, action: Action): boolean {
  const isFresh = now().getTime() - action.requestedAt.getTime() < inFlightMs
  return action.state === 'pending' && action.reason === '' && isFresh
}

interface Open {
  readonly wanted: BindRequest
  readonly meter: AmiMeter
  readonly action: Action
}

/** An action with an unknown outcome: check the meter before sending anything again. */
async function resume(
  options: ExecuteOptions,
  { wanted, meter, action }: Open,
): Promise<Action | BindRefusal> {
  const { actions, now } = options
  if (reached(action, meter)) return actions.record(action, { state: 'success', reason: '' })
  if (meter.pendingFor === action.macAddress) return { ...action, state: 'pending' }
  if (action.reason === accepted) {
    const age = now().getTime() - action.requestedAt.getTime()
    if (age < acceptedMsMax) return action
    return actions.record(action, { state: 'failed', reason: 'LOST' })
  }
  const refusal = judgeMeter(wanted, meter)
  if (refusal === undefined) return send(options, wanted, action)
  await actions.record(action, { state: 'failed', reason: 'METER_TAKEN' })
  return refusal
}

function reached(
  { actionCode, macAddress }: Pick<Action, 'actionCode' | 'macAddress'>,
  { boundTo }: AmiMeter,
): boolean {
  return actionCode === 1 ? boundTo === macAddress : boundTo === undefined
}

function judgeMeter({ macAddress }: BindRequest, meter: AmiMeter): BindRefusal | undefined {
  const hubs = [meter.boundTo, meter.pendingFor]
  const other = hubs.find((hub) => hub !== undefined && hub !== macAddress)
  return other === undefined ? undefined : { detail: 'the meter is bound to another hub' }
}

async function send(
  { ami, actions }: ExecuteOptions,
  wanted: BindRequest,
  action: Action,
): Promise<Action> {
  const { claim, meterId } = action
  try {
    const outcome = await ami.act({ ...wanted, meterId, actionId: claim })
    return await actions.record(action, outcomes[outcome])
  } catch (error) {
    if (
      error instanceof Fault &&
      (error.code === 'AMI_UNREACHABLE' || error.code === 'AMI_ANSWER')
    ) {
      await actions.record(action, { state: 'unknown', reason: error.code })
    }
    throw error
  }
}

const outcomes = {
  success: { state: 'success', reason: '' },
  pending: { state: 'pending', reason: accepted },
  refused: { state: 'failed', reason: 'REFUSED' },
} as const satisfies Record<string, { readonly state: ActionState; readonly reason: string }>
