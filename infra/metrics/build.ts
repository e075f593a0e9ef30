import { packageVersion } from '../package-root.js'
import type { Metrics } from './registry.js'

export function tellBuild(metrics: Metrics): void {
  const labels = { version: packageVersion(), node: process.versions.node }
  metrics.set('tieline_build_info', labels, 1)
}
