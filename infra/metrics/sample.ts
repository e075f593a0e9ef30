import type { LabelsOf, MetricName } from './catalogue.js'

/** One value of one series; `sample` sees to it that the labels are those of the metric. */
export interface Sample {
  readonly name: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export function sample<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): Sample {
  return { name, labels, value }
}
