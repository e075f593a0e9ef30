import fc from 'fast-check'
import type { Test } from 'tap'
import { runs } from '../rig/sample.js'

/** Checks a property on `count` samples (tenfold in the long tests) from a fresh seed, printed so that it can be repeated. */
export function sampled<T>(t: Test, property: fc.IProperty<T>, count = 2_000): void {
  const details = fc.check(property, { numRuns: runs(count), seed: Date.now() & 0x7fffffff })
  t.comment(`seed ${details.seed}, ${details.numRuns} runs`)
  t.notOk(
    details.failed,
    fc.defaultReportMessage(details) ?? `holds for ${details.numRuns} samples`,
  )
}
