import { once } from 'node:events'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/**
 * The text that a server answers, over a connection of its own. Throws if there is none with status
 * 200 in time. Unlike `fetch` it asks any port: that refuses some as those of other services, of
 * which 6000 and 10080 are two.
 */
export async function ask(url: string, { headers, timeoutMs }: AskOptions): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs)
  const asking = get(url, { agent: false, signal, ...(headers && { headers }) })
  const [response] = await once(asking, 'response')
  asking.on('error', () => undefined)
  const body = await text(response)
  if (response.statusCode !== 200) throw new Error(`HTTP status ${response.statusCode}`)
  return body
}
