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
  const [latest, before] = await actions.recent(wanted.macAddress)
  const same = latest?.requestHash === actions.hashOf(wanted) ? latest : undefined
  if (same !== undefined && isInFlight(options, same)) return same
  const meter = await findMeter(ami, wanted).catch((error: unknown) => {
    if (same?.state === 'success' && error instanceof Fault) return same
    throw error
  })
  if (!('isAMI' in meter)) return meter
  if (same !== undefined && same.meterId === meter.meterId) {
    if (same.state === 'success' && isKept(same, meter)) return same
    if (isOpen(same)) return resume(options, { wanted, meter, action: same, before })
  }
  const refusal = judgeMeter(wanted, meter)
  if (refusal !== undefined) return refusal
  const action = await actions.claim(wanted, meter.meterId, latest)
  if (action === undefined) {
    throw new Fault('OVERLOAD', 'another request for this hub was first; ask for its outcome')
  }
  await options.onClaimed?.(action)
  if (isDone(options, { action, before: latest, meter })) return succeed(actions, action)
  return send(options, wanted, action)
}

/** The AMI meter of a request, or why there is none. */
async function findMeter(ami: Ami, wanted: BindRequest): Promise<AmiMeter | BindRefusal> {
  const meterId = wanted.meterId ?? (await ami.locate(wanted.accountSlid))
  if (meterId === undefined) return { detail: 'accountSlid is not known to the head-end' }
  const meter = await ami.meter(meterId)
  if (meter === undefined) return { detail: 'meterId is not known to the head-end' }
  return meter.isAMI ? meter : { detail: 'the meter is not an AMI meter' }
}

/** The hub's latest action, updated from the meter's state if the head-end responds. */
export async function lookUp(
  options: ExecuteOptions,
  macAddress: string,
): Promise<Action | undefined> {
  const { actions, ami } = options
  const [action, before] = await actions.recent(macAddress)
  if (action === undefined || !isOpen(action)) return action
  const meter = await ami.meter(action.meterId).catch((error: unknown) => {
    if (error instanceof Fault) return undefined
    throw error
  })
  const settled = meter && (await settle(options, { action, before, meter }))
  if (settled !== undefined) return settled
  const isPending = isInFlight(options, action) || isProcessed(options, action)
  return { ...action, state: isPending ? 'pending' : 'unknown' }
}

function isOpen({ state }: Action): boolean {
  return state === 'pending' || state === 'unknown'
}

/** Claimed by a gateway that may still be executing it. */
function isInFlight({ inFlightMs, now }: ExecuteOptions, action: Action): boolean {
  const isFresh = now().getTime() - action.requestedAt.getTime() < inFlightMs
  return action.state === 'pending' && action.reason === '' && isFresh
}

interface Shown {
  readonly action: Action
  /** The hub's action before it. */
  readonly before: Action | undefined
  readonly meter: AmiMeter
}

interface Open extends Shown {
  readonly wanted: BindRequest
}

/** An action with an unknown outcome: check the meter before sending anything again. */
async function resume(
  options: ExecuteOptions,
  { wanted, ...shown }: Open,
): Promise<Action | BindRefusal> {
  const { action, meter } = shown
  const settled = await settle(options, shown)
  if (settled !== undefined) return settled
  const refusal = judgeMeter(wanted, meter)
  if (refusal === undefined) return send(options, wanted, action)
  await options.actions.record(action, { state: 'failed', reason: 'METER_TAKEN' })
  return refusal
}

/** An open action as the meter shows it; undefined if the head-end may not have it. */
async function settle(options: ExecuteOptions, shown: Shown): Promise<Action | undefined> {
  const { actions } = options
  const { action, meter } = shown
  if (isDone(options, shown)) return succeed(actions, action)
  const isOurs = meter.pendingFor === action.macAddress && !isContested(options, shown)
  if (isOurs) return { ...action, state: 'pending' }
  if (action.reason !== accepted) return undefined
  if (isProcessed(options, action)) return action
  return actions.record(action, { state: 'failed', reason: 'LOST' })
}

/** Accepted by the head-end, and not lost yet. */
function isProcessed({ now }: ExecuteOptions, { reason, requestedAt }: Action): boolean {
  return reason === accepted && now().getTime() - requestedAt.getTime() < acceptedMsMax
}

/** Whether a success still holds. After an unbind, the meter may have been bound to another hub. */
function isKept(action: Action, meter: AmiMeter): boolean {
  if (action.actionCode === 1) return reached({ action, meter })
  return meter.boundTo !== action.macAddress && meter.pendingFor !== action.macAddress
}

/** Whether the meter shows the effect of an action, and nothing that may still change it. */
function isDone(options: ExecuteOptions, shown: Shown): boolean {
  return reached(shown) && !isContested(options, shown)
}

function reached({ action, meter }: Pick<Shown, 'action' | 'meter'>): boolean {
  const { boundTo, pendingFor } = meter
  const wanted = action.actionCode === 1 ? action.macAddress : undefined
  return boundTo === wanted && pendingFor === undefined
}

/**
 * Whether the action before, which does the opposite, may still reach the meter. Until the head-end has
 * this one too, the state of the meter proves nothing.
 */
function isContested({ now }: ExecuteOptions, { action, before }: Shown): boolean {
  if (before === undefined || action.reason === accepted) return false
  const isOpposite = before.meterId === action.meterId && before.actionCode !== action.actionCode
  return (
    isOpen(before) && isOpposite && now().getTime() - before.requestedAt.getTime() < acceptedMsMax
  )
}

function succeed(actions: Actions, action: Action): Promise<Action> {
  return actions.record(action, { state: 'success', reason: '' })
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
