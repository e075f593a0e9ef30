import type { GatewayShown } from '../panels/gateway.js'
import { chart } from './charts.js'
import { el, nothing } from './elements.js'
import { table } from './tables.js'
import { count, rough } from './text.js'

/** Rate, latency and failures of the gateway, and of which process that is told. */
export function gateway({ address, moments, answers }: GatewayShown): readonly Node[] {
  if (address === '')
    return nothing('No gateway runs by this profile; Prometheus has those elsewhere.')
  const total = answers.reduce((sum, { requests }) => sum + requests, 0)
  const latest = moments.at(-1)
  const rate =
    latest === undefined
      ? 'Looking for the first time.'
      : `${rough(latest.perSecond)} requests a second just now.`
  const bad = answers.filter(({ status }) => !status.startsWith('2'))
  return [
    el('p', {}, `${count(total)} requests since the process at ${address} began. ${rate}`),
    ...drawn(moments),
    bad.length === 0
      ? el('p', { class: 'nothing' }, 'Every request was answered with success.')
      : table(
          'Answers that were no success, since the process began',
          [
            { title: 'route', cell: ({ route }) => route },
            { title: 'status', cell: ({ status }) => status },
            { title: 'code', cell: ({ errorCode }) => errorCode || '–' },
            { title: 'requests', right: true, cell: ({ requests }) => count(requests) },
          ],
          [...bad].sort((a, b) => b.requests - a.requests).slice(0, 40),
        ),
  ]
}

/** Rates need two looks, latencies a request between them. */
function drawn(moments: GatewayShown['moments']): readonly Node[] {
  const at = moments.map((moment) => moment.at)
  const milliseconds = (value: number | null) => (value === null ? null : value * 1_000)
  const rates = moments.map((moment) => moment.perSecond)
  const slow = moments.map((moment) => milliseconds(moment.slow))
  const median = moments.map((moment) => milliseconds(moment.median))
  const rate = chart({
    title: 'Requests a second',
    summary: 'Requests a second, while somebody watches.',
    at,
    lines: [{ label: 'requests/s', color: '--line-1', values: rates }],
  })
  const latency = chart({
    title: 'Milliseconds to an answer',
    summary: 'Milliseconds that half and 95 % of the requests stayed below.',
    at,
    lines: [
      { label: '95 %', color: '--line-2', values: slow },
      { label: 'half', color: '--line-1', values: median },
    ],
  })
  return [
    ...(moments.length < 2 ? [] : [rate]),
    ...(slow.filter((value) => value !== null).length < 2 ? [] : [latency]),
  ]
}
