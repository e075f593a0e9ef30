import { Fault } from '../../../schemas/fault.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import { parseGatewayScrape, rateBetween, type Scraped } from './scraped.js'

const askMsMax = 2_000
const samplesMax = 720

/** The gateway between two scrapes. */
export interface Moment {
  /** Seconds since 1970. */
  readonly at: number
  readonly perSecond: number
  /** 50th and 95th percentile of the latency in seconds; null without requests. */
  readonly median: number | null
  readonly slow: number | null
}

export interface GatewayShown {
  /** Address of the scrape; empty if the profile has no gateway. */
  readonly address: string
  readonly moments: readonly Moment[]
  /** Since the start of its process. */
  readonly answers: Scraped['answers']
}

/**
 * The gateway is a separate process that counts since its start: it is scraped while the page is open,
 * and rates are differences between two scrapes.
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
    const now = parseGatewayScrape(await scrape(address), Date.now())
    const moment = before && rateBetween(before, now)
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
    const detail = `no response from the gateway at ${address}/metrics; check that it runs on this machine`
    throw new Fault('SOURCE_UNREACHABLE', detail, { cause })
  }
}
