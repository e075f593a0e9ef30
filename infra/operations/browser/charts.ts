import { type Content, type PageColumn, table } from './elements.js'
import { html } from './lit-html.js'
import { clockText, instantText, rough } from './text.js'

export interface Line {
  readonly label: string
  /** A colour of the style sheet, `--line-1` and on. */
  readonly color: string
  /** Null is a gap. */
  readonly values: readonly (number | null)[]
  /** A value of its own time; without it, of the time since the one before. */
  readonly bars?: boolean
}

export interface Chart {
  /** Part of its accessible name. */
  readonly title: string
  /** Its caption: the data in a sentence. */
  readonly summary: string
  /** Seconds since 1970, ascending. */
  readonly at: readonly number[]
  readonly lines: readonly Line[]
}

const heightPx = 170
const rowsMax = 60

/** A chart over time with its caption, and its values as a table. */
export function chart({ title, summary, at, lines }: Chart): Content {
  const indexes = at.map((_, index) => index).slice(-rowsMax)
  const columns: readonly PageColumn<number>[] = [
    { title: 'time', cell: (index) => instantText(at[index] ?? 0) },
    ...lines.map(({ label, values }) => ({
      title: label,
      right: true,
      cell: (index: number) => shown(values[index]),
    })),
  ]
  return html`<figure>
    <figcaption>${summary}</figcaption>
    <div class="chart" role="img" aria-label="${title}. ${summary}">${draw(at, lines)}</div>
    <details>
      <summary>${title}: values</summary>
      ${table(title, columns, indexes)}
    </details>
  </figure>`
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : rough(value)
}

/** Labels of ticks, with seconds if they are less than a minute apart. */
function clocks(_: unknown, ticks: number[]): string[] {
  const [first = 0, second = first + 60] = ticks
  return ticks.map((at) => clockText(at, second - first < 60))
}

/** Least distance of two times in pixels: half an hour may have times with seconds, which take 55. */
function timesApart(...[, , min, max]: [unknown, number, number, number]): number {
  return max - min < 1_800 ? 75 : 50
}

/** The first step begins at the time before it, where nothing is drawn. */
function withFirstStep({ values, bars }: Line): readonly (number | null)[] {
  const first = values.findIndex((value) => value !== null)
  return bars || first < 1 ? values : values.with(first - 1, values[first] ?? null)
}

/**
 * Nothing is drawn between values: bars, or steps that end at their time, with gaps.
 * uPlot needs an explicit width: it is resized with its container and destroyed after removal.
 */
function draw(at: Chart['at'], lines: Chart['lines']): HTMLElement {
  const place = document.createElement('div')
  const style = getComputedStyle(document.documentElement)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: color('--quiet'),
    grid: { stroke: color('--rule'), width: 1 },
    ticks: { stroke: color('--rule'), width: 1 },
    font: '12px system-ui, sans-serif',
  }
  const bars = uPlot.paths.bars?.({ size: [0.8, 24] })
  const steps = uPlot.paths.stepped?.({ align: -1, alignGaps: -1 })
  let drawn: InstanceType<typeof uPlot> | undefined
  const watcher = new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth)
    if (!place.isConnected) {
      drawn?.destroy()
      watcher.disconnect()
    }
    if (width === 0) return
    if (drawn !== undefined) return drawn.setSize({ width, height: heightPx })
    const options = {
      width,
      height: heightPx,
      cursor: { drag: { x: false, y: false } },
      scales: {
        y: {
          range: (_: unknown, min: number, max: number) =>
            [Math.min(0, min), Math.max(0, max) || 1] as [number, number],
        },
      },
      axes: [
        { ...axis, space: timesApart, values: clocks },
        { ...axis, size: 76, values: (_: unknown, ticks: number[]) => ticks.map(rough) },
      ],
      series: [
        {
          label: 'UTC',
          value: (_: unknown, at: number | null) => (at === null ? '' : clockText(at)),
        },
        ...lines.map((line) => ({
          label: line.label,
          value: (_: unknown, value: number | null) => shown(value),
          stroke: color(line.color),
          width: 2,
          points: { show: false },
          ...(line.bars
            ? bars && { paths: bars, fill: color(line.color) }
            : steps && { paths: steps }),
        })),
      ],
    }
    const data = [[...at], ...lines.map((line) => [...withFirstStep(line)])]
    drawn = new uPlot(options, data as never, place)
  })
  watcher.observe(place)
  return place
}
