import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { catalogue, entriesOf, type LabelsOf, type MetricName, type Part } from './catalogue.js'
import type { Sample } from './sample.js'

/** The metrics of one process. */
export interface Metrics {
  /** The value of a gauge. */
  set<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): void
  tell(sample: Sample): void
  /** The value of a counter that something else counts. */
  total<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): void
  add<N extends MetricName>(name: N, labels: LabelsOf<N>): void
  observe<N extends MetricName>(name: N, labels: LabelsOf<N>, seconds: number): void
  /** Forgets all series of a gauge: what is not known, or not there any more, is not told. */
  clear(name: MetricName): void
  /** In the text format of Prometheus. */
  text(): Promise<string>
  readonly type: string
}

/** From a login that is known to a customer whom a slow CIS has to look for, and on to a whole load. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

/** The metrics that the catalogue has for a process, and Node's own: memory, event loop, collector. */
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
    if (metric === undefined) throw new TypeError(`${part} does not tell ${name} so`)
    return metric
  }
  return {
    set: (name, labels, value) => own(gauges, name).set(labels, value),
    tell: ({ name, labels, value }) => own(gauges, name).set(labels, value),
    total: (name, labels, value) => {
      const counter = own(counters, name)
      counter.remove(labels)
      counter.inc(labels, value)
    },
    add: (name, labels) => own(counters, name).inc(labels),
    observe: (name, labels, seconds) => own(histograms, name).observe(labels, seconds),
    clear: (name) => {
      const gauge = own(gauges, name)
      gauge.reset()
      if (catalogue[name].labels.length === 0) gauge.remove()
    },
    text: () => registry.metrics(),
    type: registry.contentType,
  }
}
