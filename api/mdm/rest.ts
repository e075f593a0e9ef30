import { Fault } from '../../schemas/fault.js'
import type { BackfillSettings, HistoryAnswer, Mdm } from '../../schemas/gateway/history.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import { createUtilityClient } from '../utility-client.js'

const formats: Readonly<Record<string, HistoryAnswer['format']>> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
}

/** An MDM over HTTP; 204 and 404 mean that there is no history. No fault names the meter. */
export function createRestMdm(
  settings: BackfillSettings,
  secret: (reference: SecretReference) => string,
): Mdm {
  const options = { fault: 'MDM_UNREACHABLE', name: 'the MDM', secret } as const
  const client = createUtilityClient(settings, options)
  const headers = { Accept: 'text/csv, application/x-ndjson' }
  return {
    history: async ({ meterId, from, to }) => {
      const url = new URL(settings.url)
      for (const [name, value] of Object.entries({ meterId, from, to })) {
        url.searchParams.set(name, value)
      }
      const response = await client.send({ method: 'GET', url: url.href, headers })
      const { status, type, text, isUtf8, isWhole } = response
      if (status === 204 || status === 404) return undefined
      if (status !== 200) {
        throw new Fault('MDM_UNREACHABLE', `the MDM at ${url.origin} returned status ${status}`)
      }
      if (!isUtf8) {
        throw new Fault('MDM_ANSWER', `the MDM at ${url.origin} returned text that is not UTF-8`)
      }
      const format = formats[type.split(';')[0]?.trim().toLowerCase() ?? '']
      if (format !== undefined) return { format, text, isWhole }
      throw new Fault('MDM_ANSWER', `the MDM at ${url.origin} returned neither CSV nor NDJSON`)
    },
    close: async () => client.close(),
  }
}
