import fc from 'fast-check'
import type { Test } from 'tap'

/** Checks a property on `runs` samples from a fresh seed, printed so that it can be repeated. */
export function sampled<T>(t: Test, property: fc.IProperty<T>, runs = 2_000): void {
  const details = fc.check(property, { numRuns: runs, seed: Date.now() & 0x7fffffff })
  t.comment(`seed ${details.seed}, ${details.numRuns} runs`)
  t.notOk(
    details.failed,
    fc.defaultReportMessage(details) ?? `holds for ${details.numRuns} samples`,
  )
}
