import type { GatewayShown } from '../panels/gateway.js'
import { chart } from './charts.js'
import { type Content, empty, table } from './elements.js'
import { html } from './lit-html.js'
import { countText, rough } from './text.js'

/** Rate, latency and failures of the gateway process. */
export function gateway({ address, moments, answers }: GatewayShown): Content {
  if (address === '') return empty('This profile has no gateway.')
  const total = answers.reduce((sum, { requests }) => sum + requests, 0)
  const latest = moments.at(-1)
  const rate =
    latest === undefined || latest.perSecond === null
      ? 'The rate is shown after the next scrape.'
      : `${rough(latest.perSecond)} requests per second now.`
  const bad = answers.filter(({ status }) => !status.startsWith('2'))
  const failed = table(
    'Failed requests since the process started',
    [
      { title: 'route', cell: ({ route }) => route },
      { title: 'status', cell: ({ status }) => status },
      { title: 'code', cell: ({ errorCode }) => errorCode || '–' },
      { title: 'requests', right: true, cell: ({ requests }) => countText(requests) },
    ],
    [...bad].sort((a, b) => b.requests - a.requests).slice(0, 40),
  )
  const since = `${countText(total)} requests since the process at ${address} started.`
  const outcome = total === 0 ? '' : empty('All requests succeeded.')
  return html`<p>${since} ${rate}</p>${drawn(moments)}
    ${bad.length === 0 ? outcome : failed}`
}

/** Rates need two scrapes, latencies a request between them. */
function drawn(moments: GatewayShown['moments']): readonly Content[] {
  const at = moments.map((moment) => moment.at)
  const milliseconds = (value: number | null) => (value === null ? null : value * 1_000)
  const rates = moments.map((moment) => moment.perSecond)
  const slow = moments.map((moment) => milliseconds(moment.slow))
  const median = moments.map((moment) => milliseconds(moment.median))
  const rate = {
    title: 'Requests per second',
    summary: 'Requests per second, recorded while this page is open.',
    at,
    lines: [{ label: 'requests/s', color: '--line-1', values: rates }],
  }
  const latency = {
    title: 'Latency in milliseconds',
    summary: 'Latency in milliseconds, 50th and 95th percentile.',
    at,
    lines: [
      { label: 'p95', color: '--line-2', values: slow },
      { label: 'p50', color: '--line-1', values: median },
    ],
  }
  const isKnown = (values: readonly (number | null)[]) => values.some((value) => value !== null)
  return [...(isKnown(rates) ? [chart(rate)] : []), ...(isKnown(slow) ? [chart(latency)] : [])]
}
