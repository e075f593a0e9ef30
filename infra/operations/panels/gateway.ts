import { Fault } from '../../../schemas/fault.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import { answeredOf, type Scraped, scrapeOf } from './scraped.js'

const askMsMax = 2_000
const samplesMax = 720

/** The gateway between two looks. */
export interface Moment {
  /** Seconds since 1970. */
  readonly at: number
  readonly perSecond: number
  /** Seconds that half of the requests stayed below, and 95 of 100; null where there were none. */
  readonly median: number | null
  readonly slow: number | null
}

export interface GatewayShown {
  /** Where it was asked; empty where this profile has no gateway. */
  readonly address: string
  readonly moments: readonly Moment[]
  /** Since its process started. */
  readonly answers: Scraped['answers']
}

/**
 * The gateway is another process, which counts for itself since its start: its metrics are asked for
 * while somebody watches, and a rate is what came between two looks.
 */
export function createGatewayPanel({
  gateway,
}: Pick<Profile, 'gateway'>): () => Promise<GatewayShown> {
  if (gateway === undefined) return async () => ({ address: '', moments: [], answers: [] })
  const { host, port } = gateway.operations
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const address = `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
  const moments: Moment[] = []
  let before: Scraped | undefined
  return async () => {
    const now = scrapeOf(await scrape(address), Date.now())
    const moment = before && answeredOf(before, now)
    if (moment !== undefined) moments.push(moment)
    if (moments.length > samplesMax) moments.shift()
    before = now
    return { address, moments, answers: now.answers }
  }
}

async function scrape(address: string): Promise<string> {
  try {
    const answer = await fetch(`${address}/metrics`, { signal: AbortSignal.timeout(askMsMax) })
    if (!answer.ok) throw new Error(`HTTP status ${answer.status}`)
    return await answer.text()
  } catch (cause) {
    const detail = `the gateway does not answer at ${address}/metrics; is it up, and does it run here?`
    throw new Fault('SOURCE_UNREACHABLE', detail, { cause })
  }
}
