import { toAuthority } from '../../../api/listeners/listener.js'
import { Fault } from '../../../schemas/fault.js'
import { ask } from '../../ask.js'
import type { PanelSource } from './query.js'
import { type Moment, parseGatewayScrape, rateBetween, type Scraped, unknownAt } from './scraped.js'

const askMsMax = 2_000
const samplesMax = 720
/** Between two scrapes while the page is open. */
export const scrapeSeconds = 5

export interface GatewayShown {
  /** Address of the scrape; empty if the profile has no gateway. */
  readonly address: string
  readonly moments: readonly Moment[]
  /** Since the start of its process. */
  readonly answers: Scraped['answers']
}

/**
 * The gateway is a separate process that counts since its start: it is scraped while the page is open,
 * and rates are differences between two scrapes. A restart and a time without scrapes have no rate.
 */
export function createGatewayPanel({
  profile: { gateway },
  now: clock,
}: Pick<PanelSource, 'profile' | 'now'>): () => Promise<GatewayShown> {
  if (gateway === undefined) return async () => ({ address: '', moments: [], answers: [] })
  const { host, port } = gateway.operations
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const address = `http://${toAuthority({ host: reached, port })}`
  const moments: Moment[] = []
  let before: Scraped | undefined
  return async () => {
    const now = parseGatewayScrape(await scrape(address), clock().getTime())
    const isWatched = before !== undefined && now.at - before.at <= 2_000 * scrapeSeconds
    const moment = before && isWatched ? rateBetween(before, now) : unknownAt(now)
    // One gap, not two: the time between them is not known either.
    if (moment.perSecond === null && moments.at(-1)?.perSecond === null) moments.pop()
    moments.push(moment)
    if (moments.length > samplesMax) moments.shift()
    before = now
    return { address, moments, answers: now.answers }
  }
}

async function scrape(address: string): Promise<string> {
  try {
    return await ask(`${address}/metrics`, { timeoutMs: askMsMax })
  } catch (cause) {
    const detail = `no response from the gateway at ${address}/metrics; check that it runs on this machine`
    throw new Fault('SOURCE_UNREACHABLE', detail, { cause })
  }
}
