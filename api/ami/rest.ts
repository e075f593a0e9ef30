import { z } from 'zod'
import { Fault } from '../../schemas/fault.js'
import { identifier } from '../../schemas/gateway/customer.js'
import type { RestAmiSettings } from '../../schemas/settings/gateway-bind.js'
import {
  createHttpClient,
  type HttpRequest,
  type HttpResponse,
  parseObject,
} from '../http-client.js'
import type { Ami, AmiOutcome } from './ami.js'

const hub = z
  .string()
  .max(64)
  .transform((address) => address.toUpperCase())
  .nullable()
  .default(null)
const location = z.object({ meterId: identifier })
const meter = z.object({ meterId: identifier, isAMI: z.boolean(), boundTo: hub, pendingFor: hub })
const outcome = z.object({ state: z.enum(['success', 'pending', 'refused']) })

/** Statuses by which a head-end refuses an action for good. */
const refusals = new Set([400, 403, 404, 409, 422])

/**
 * An AMI head-end over HTTP. An action carries its id as `Idempotency-Key` too, for head-ends that
 * know it. `headers` has the secrets of the profile in it already.
 */
export function createRestAmi(
  settings: RestAmiSettings,
  headers: Readonly<Record<string, string>>,
): Ami {
  const client = createHttpClient({ ...settings, fault: 'AMI_UNREACHABLE', name: 'the head-end' })
  const base = settings.url.replace(/\/$/, '')
  const ask = (call: Omit<HttpRequest, 'headers'>, more: Readonly<Record<string, string>> = {}) =>
    client.send({ ...call, url: base + call.url, headers: { ...headers, ...more } })
  const find = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    const called = await ask({ method: 'GET', url: path })
    return called.status === 404 ? undefined : read(called, schema)
  }
  return {
    locate: async (accountSlid) => {
      const path = settings.locationPath.replace('{accountSlid}', encodeURIComponent(accountSlid))
      return (await find(path, location))?.meterId
    },
    meter: async (meterId) => {
      const found = await find(
        settings.meterPath.replace('{meterId}', encodeURIComponent(meterId)),
        meter,
      )
      if (found === undefined) return undefined
      if (found.meterId !== meterId)
        throw new Fault('AMI_ANSWER', 'the head-end told of another meter')
      const { boundTo, pendingFor, isAMI } = found
      return { meterId, isAMI, boundTo: boundTo ?? undefined, pendingFor: pendingFor ?? undefined }
    },
    act: async (action): Promise<AmiOutcome> => {
      const call = {
        method: 'POST',
        url: settings.actionPath,
        body: JSON.stringify(action),
      } as const
      const called = await ask(call, { 'Idempotency-Key': action.actionId })
      if (refusals.has(called.status)) return 'refused'
      if (called.status === 202) return 'pending'
      return read(called, outcome).state
    },
    close: async () => client.close(),
  }
}

function read<T>({ status, text }: HttpResponse, schema: z.ZodType<T>): T {
  if (status !== 200) throw new Fault('AMI_UNREACHABLE', `the head-end answered ${status}`)
  const parsed = schema.safeParse(parseObject(text))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = issue?.path.join('.') || 'the answer'
  throw new Fault('AMI_ANSWER', `the head-end answered with ${field} missing or wrong`)
}
