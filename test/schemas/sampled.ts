import fc from 'fast-check'
import type { Test } from 'tap'
import { runs } from '../rig/sample.js'

/**
 * Checks a property on 500 samples (20,000 in the long tests), or on `count` (tenfold), from a fresh
 * seed, printed so that it can be repeated.
 */
export function sampled<T>(t: Test, property: fc.IProperty<T>, count?: number): void {
  const numRuns = count === undefined ? runs(500, 20_000) : runs(count)
  const details = fc.check(property, { numRuns, seed: Date.now() & 0x7fffffff })
  t.comment(`seed ${details.seed}, ${details.numRuns} runs`)
  t.notOk(
    details.failed,
    fc.defaultReportMessage(details) ?? `holds for ${details.numRuns} samples`,
  )
}
