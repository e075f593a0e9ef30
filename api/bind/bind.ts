import { type BindRules, readBindRequest } from '../../schemas/gateway/bind-request.js'
import type { Pseudonymize } from '../access/pseudonym.js'
import { type Answer, wrongRequest } from '../answer.js'
import type { GatewayRequest } from '../request.js'
import type { RouteHandler } from '../route.js'
import { createSingleFlight } from '../single-flight.js'
import type { Action } from './actions.js'
import { type BindRefusal, type ExecuteOptions, executeBind, lookUp } from './execute.js'

export interface BindOptions extends ExecuteOptions {
  readonly rules: BindRules
  /** The service account of a request's name and password. */
  readonly accountOf: (request: GatewayRequest) => Promise<string | undefined>
  /** Records who started an action. */
  readonly audit: (who: string, action: Action) => Promise<void>
  readonly pseudonymize: Pseudonymize
  /** Reports an accepted install code with a wrong CRC. */
  readonly onWrongCrc: (requestId: string) => void
}

/**
 * `POST /gateway/bind`. Specification 4.3: not idempotent; before a retry, check the action's outcome
 * and the meter's bind state. Hence the action is stored before the head-end is called, and its
 * outcome before the platform is answered: a repeated request sends nothing twice (decision 9).
 */
export function createBind(options: BindOptions): RouteHandler {
  const share = createSingleFlight<Answer>()
  return async (request) => {
    const who = await options.accountOf(request)
    if (who === undefined) {
      return { kind: 'denied', denial: 'token', reason: 'basic authentication' }
    }
    const { request: wanted, detail, checkFails } = read(request, options)
    if (wanted === undefined) return wrongRequest(detail)
    if (checkFails) options.onWrongCrc(request.id)
    const pseudonym = options.pseudonymize(wanted.macAddress)
    const hash = options.actions.hashOf(wanted)
    const onClaimed = (action: Action) => options.audit(who, action)
    return share(hash, async () => {
      const outcome = await executeBind({ ...options, onClaimed }, wanted)
      return { ...toAnswer(outcome), pseudonym }
    })
  }
}

function read(request: GatewayRequest, { rules }: BindOptions) {
  const verdict = readBindRequest(request.body, rules)
  if (verdict.request !== undefined) return { ...verdict, detail: '' }
  return { request: undefined, checkFails: false, detail: verdict.detail }
}

/** `GET /gateway/bind/<macAddress>`: the state of the hub's latest action. */
export function createBindOutcome(options: BindOptions): RouteHandler {
  return async (request, { rest }) => {
    if ((await options.accountOf(request)) === undefined) {
      return { kind: 'denied', denial: 'token', reason: 'basic authentication' }
    }
    const macAddress = decodeMac(rest)
    const action = macAddress === undefined ? undefined : await lookUp(options, macAddress)
    if (action === undefined) return { kind: 'bare', status: 404 }
    const { state, actionCode, requestedAt } = action
    const body = JSON.stringify({ macAddress, actionCode, state, requestedAt })
    return { kind: 'good', body, pseudonym: options.pseudonymize(action.macAddress) }
  }
}

function decodeMac(rest: string): string | undefined {
  const plain = rest.replaceAll(/%3a/gi, ':').toUpperCase()
  return /^[0-9A-F]{2}(:[0-9A-F]{2}){5,7}$/.test(plain) ? plain : undefined
}

const messages = {
  success: { bind: 'The hub is bound to the meter.', unbind: 'The hub is unbound.' },
  pending: { bind: 'The meter is being bound.', unbind: 'The hub is being unbound.' },
} as const

function toAnswer(outcome: Action | BindRefusal): Answer {
  if ('detail' in outcome) return wrongRequest(outcome.detail)
  const { state, actionCode } = outcome
  if (state !== 'success' && state !== 'pending') {
    return wrongRequest('the head-end refused the action')
  }
  const message = messages[state][actionCode === 1 ? 'bind' : 'unbind']
  return { kind: 'good', body: JSON.stringify({ status: state, message }) }
}
