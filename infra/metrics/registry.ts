import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { Fault } from '../../schemas/fault.js'
import { packageVersion } from '../package-root.js'
import { catalogue, entriesOf, type LabelsOf, type MetricName, type Part } from './catalogue.js'

/** One value of one series; `sample` checks that the labels are those of the metric. */
export interface MetricSample {
  readonly name: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export function sample<N extends MetricName>(
  name: N,
  labels: LabelsOf<N>,
  value: number,
): MetricSample {
  return { name, labels, value }
}

/** The metrics of one process. */
export interface Metrics {
  /** Sets a gauge. */
  set<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): void
  record(sample: MetricSample): void
  /** Sets a counter that is counted elsewhere. */
  total<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): void
  add<N extends MetricName>(name: N, labels: LabelsOf<N>): void
  observe<N extends MetricName>(name: N, labels: LabelsOf<N>, seconds: number): void
  /** Counts a failure by the code of its fault. */
  failed(error: unknown): void
  /** Removes all series of a gauge: an unknown value is not reported. */
  clear(name: MetricName): void
  /** In the text format of Prometheus. */
  text(): Promise<string>
  readonly type: string
}

/** From a cached login, through a customer search in a slow CIS, to a complete load. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

const unexpected = 'UNEXPECTED'

/** The code of a failure's fault; one code for all unexpected failures. */
export function failureCode(error: unknown): string {
  return error instanceof Fault ? error.code : unexpected
}

/** The metrics that the catalogue lists for a process, and Node's own: memory, event loop, collector. */
export function createRegistry(part: Part): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauges = new Map<MetricName, Gauge>()
  const counters = new Map<MetricName, Counter>()
  const histograms = new Map<MetricName, Histogram>()
  for (const [name, { type, help, labels }] of entriesOf(part)) {
    const shared = { name, help, labelNames: [...labels], registers: [registry] }
    if (type === 'gauge') gauges.set(name, new Gauge(shared))
    else if (type === 'counter') counters.set(name, new Counter(shared))
    else histograms.set(name, new Histogram({ ...shared, buckets }))
  }
  const own = <T>(all: ReadonlyMap<MetricName, T>, name: MetricName): T => {
    const metric = all.get(name)
    if (metric === undefined) throw new TypeError(`the ${part} does not report ${name} in this way`)
    return metric
  }
  const metrics: Metrics = {
    set: (name, labels, value) => own(gauges, name).set(labels, value),
    record: ({ name, labels, value }) => own(gauges, name).set(labels, value),
    total: (name, labels, value) => {
      const counter = own(counters, name)
      counter.remove(labels)
      counter.inc(labels, value)
    },
    add: (name, labels) => own(counters, name).inc(labels),
    observe: (name, labels, seconds) => own(histograms, name).observe(labels, seconds),
    failed: (error) => metrics.add('tieline_failures_total', { code: failureCode(error) }),
    clear: (name) => {
      const gauge = own(gauges, name)
      gauge.reset()
      if (catalogue[name].labels.length === 0) gauge.remove()
    },
    text: () => registry.metrics(),
    type: registry.contentType,
  }
  metrics.set('tieline_build_info', { version: packageVersion(), node: process.versions.node }, 1)
  // Reported from the start, so that the first such failure is a change.
  metrics.total('tieline_failures_total', { code: unexpected }, 0)
  return metrics
}
