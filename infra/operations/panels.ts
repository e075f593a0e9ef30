import type { Panel } from './live.js'
import { createAttentionPanel } from './panels/attention.js'
import { readCompleteness } from './panels/completeness.js'
import { readCycleDays } from './panels/cycles.js'
import { readToday } from './panels/files.js'
import { readFreshness } from './panels/freshness.js'
import { createGatewayPanel, scrapeSeconds } from './panels/gateway.js'
import { readHealedShown } from './panels/healed.js'
import { readMinutes } from './panels/minutes.js'
import type { PanelSource } from './panels/query.js'
import { readQueuesAndDisk } from './panels/queues.js'
import { readSourceHealth } from './panels/sources.js'
import { readVariance } from './panels/variance.js'

/** All panels of the page: a query, its interval, and a view of the same name in the browser. */
export function createPanels(source: PanelSource): readonly Panel[] {
  const panel = (
    name: string,
    seconds: number,
    read: (source: PanelSource) => Promise<unknown>,
  ) => {
    return { name, everyMs: seconds * 1_000, read: () => read(source) }
  }
  return [
    panel('files', 10, readToday),
    panel('attention', 15, createAttentionPanel()),
    panel('minutes', 15, readMinutes),
    panel('freshness', 30, readFreshness),
    panel('completeness', 300, readCompleteness),
    panel('cycles', 300, readCycleDays),
    panel('variance', 300, readVariance),
    panel('sources', 15, readSourceHealth),
    panel('healed', 30, readHealedShown),
    panel('queues', 5, readQueuesAndDisk),
    panel('gateway', scrapeSeconds, createGatewayPanel(source)),
  ]
}
