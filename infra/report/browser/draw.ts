import type { ReportChart } from '../chart.js'

/** Draws every chart of the report, again when its width, its colours or its medium changes. */

const heightPx = 220
/** As wide as A4 within its margins. */
const printPx = 640
const dashes: readonly number[][] = [[], [], [], [6, 3], [6, 3], [6, 3]]
const increments = [1, 2, 3, 4, 6, 7, 10, 14, 20, 30, 60, 120]
const format = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

/** Positions of the labels, then the values of each line. The last step ends one label behind its own. */
function dataOf({ kind, labels, lines }: ReportChart): readonly (readonly (number | null)[])[] {
  const ends = kind === 'steps' ? [labels.length - 1] : []
  return [
    [...labels, ...ends].map((_, index) => index),
    ...lines.map(({ values }) => [...values, ...ends.map((last) => values[last] ?? null)]),
  ]
}

function draw(place: HTMLElement): InstanceType<typeof uPlot> {
  const chart = JSON.parse(place.querySelector('script')?.textContent ?? '') as ReportChart
  const { kind, labels, unit, lines } = chart
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.8, 40] }) : undefined
  const steps = uPlot.paths.stepped?.({ align: 1, alignGaps: 1 })
  const axis = {
    stroke: () => color('--quiet'),
    grid: { stroke: () => color('--rule'), width: 1 },
    ticks: { stroke: () => color('--rule'), width: 1 },
    font: '12px system-ui, sans-serif',
  }
  const options = {
    width: Math.max(1, Math.floor(place.clientWidth)),
    height: heightPx,
    cursor: { show: false },
    legend: { live: false },
    scales: {
      x: {
        time: false,
        range: () => (bars ? [-0.6, labels.length - 0.4] : [0, labels.length]) as [number, number],
      },
      y: {
        range: (_: unknown, min: number | null, max: number | null) =>
          [Math.min(0, min ?? 0), Math.max(0, max ?? 0) * 1.05 || 1] as [number, number],
      },
    },
    axes: [
      {
        ...axis,
        space: 56,
        incrs: increments,
        values: (_: unknown, ticks: number[]) => ticks.map((tick) => labels[tick] ?? ''),
      },
      {
        ...axis,
        label: unit,
        labelSize: 20,
        labelFont: axis.font,
        size: 64,
        values: (_: unknown, ticks: number[]) => ticks.map((tick) => format.format(tick)),
      },
    ],
    series: [
      { label: '' },
      ...lines.map(({ label }, index) => ({
        label,
        stroke: () =>
          color(bars && index === 0 ? '--quiet' : `--line-${index + 1 - (bars ? 1 : 0)}`),
        spanGaps: false,
        ...(bars
          ? {
              paths: bars,
              width: 1,
              points: { show: false },
              ...(index > 0 && { fill: () => color('--line-1') }),
            }
          : {
              width: 2,
              dash: dashes[index] ?? [],
              points: { show: false },
              ...(steps && { paths: steps }),
            }),
      })),
    ],
  }
  return new uPlot(options as never, dataOf(chart) as never, place)
}

const drawn = [...document.querySelectorAll<HTMLElement>('.chart')].map((place) => ({
  place,
  plot: draw(place),
}))
const details = [...document.querySelectorAll('details')]
const paper = matchMedia('print')

function fit(): void {
  for (const { place, plot } of drawn) {
    const width = paper.matches ? Math.min(printPx, plot.width) : Math.floor(place.clientWidth)
    if (width > 0) plot.setSize({ width, height: heightPx })
    plot.redraw()
  }
}

const watcher = new ResizeObserver(() => {
  if (!paper.matches) fit()
})
for (const { place } of drawn) watcher.observe(place)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', fit)

/** On paper every table is open. */
let opened: readonly HTMLDetailsElement[] = []
paper.addEventListener('change', () => {
  if (paper.matches) opened = details.filter(({ open }) => !open)
  for (const one of opened) one.open = paper.matches
  fit()
})
