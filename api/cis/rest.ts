import { Fault } from '../../schemas/fault.js'
import { parseObject } from '../../schemas/json.js'
import type { RestCisSettings } from '../../schemas/settings/gateway-cis.js'
import { createHttpClient } from '../http-client.js'
import type { Cis } from './cis.js'
import { toRecord } from './field-map.js'

/**
 * A CIS that returns one JSON document for a customer over HTTP; 404 means an unknown customer. The
 * secrets in `headers` are resolved.
 */
export function createRestCis(
  settings: RestCisSettings,
  headers: Readonly<Record<string, string>>,
): Cis {
  const client = createHttpClient({
    ...settings,
    fault: 'CIS_UNREACHABLE',
    name: 'the CIS',
    mayQueue: true,
  })
  const base = settings.url.replace(/\/$/, '')
  return {
    fetch: async (clientId) => {
      const path = settings.customerPath.replaceAll('{clientId}', encodeURIComponent(clientId))
      const { status, text } = await client.send({ method: 'GET', url: base + path, headers })
      if (status === 404) return undefined
      if (status !== 200) {
        throw new Fault(
          'CIS_UNREACHABLE',
          `the CIS at ${base} returned status ${status} for a customer`,
        )
      }
      const answer = parseObject(text)
      if (answer === undefined) {
        throw new Fault(
          'CIS_ANSWER',
          `the CIS at ${base} returned something else than a JSON object`,
        )
      }
      return toRecord(answer, settings.fields, settings.values)
    },
    close: async () => client.close(),
  }
}
