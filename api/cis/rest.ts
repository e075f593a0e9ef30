import { Fault } from '../../schemas/fault.js'
import { parseObject } from '../../schemas/json.js'
import type { RestCisSettings } from '../../schemas/settings/gateway-cis.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import { createUtilityClient, fillPath } from '../utility-client.js'
import type { Cis } from './cis.js'
import { toRecord } from './field-map.js'

/** A CIS that returns one JSON document for a customer over HTTP; 404 means an unknown customer. */
export function createRestCis(
  settings: RestCisSettings,
  secret: (reference: SecretReference) => string,
): Cis {
  const options = { fault: 'CIS_UNREACHABLE', name: 'the CIS', mayQueue: true } as const
  const client = createUtilityClient(settings, { ...options, secret })
  const base = settings.url.replace(/\/$/, '')
  return {
    fetch: async (clientId) => {
      const path = fillPath(settings.customerPath, '{clientId}', clientId)
      if (path === undefined) return undefined
      const { status, text, isUtf8 } = await client.send({ method: 'GET', url: base + path })
      if (status === 404) return undefined
      if (status !== 200) {
        throw new Fault(
          'CIS_UNREACHABLE',
          `the CIS at ${base} returned status ${status} for a customer`,
        )
      }
      // Two identifiers may be the same once their bytes are replaced.
      if (!isUtf8)
        throw new Fault('CIS_ANSWER', `the CIS at ${base} returned text that is not UTF-8`)
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
