export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Lines kept of one failing file; the first failures are the most useful. */
const linesMax = 400

/**
 * Reads the TAP of a whole run line by line: one line for each file that passed, all that is not
 * `ok` for each that failed, and tap's own count of assertions at the end.
 */
export function createReader(print: (line: string) => void): {
  read(line: string): void
  counts(): Counts
  /** How long each file took. */
  seconds(): Readonly<Record<string, number>>
} {
  const times: Record<string, number> = {}
  let kept: string[] = []
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  return {
    read: (line) => {
      const total = /^# \{ total: \d+.*\}$/.test(line)
      if (total) counts = parseCounts(line)
      const file = /^(not )?ok \d+ - (\S+)(?:.*time=([\d.]+)(m?s))?/.exec(line)
      if (file === null) {
        if (kept.length < linesMax && isTelling(line)) kept.push(line)
        return
      }
      const [, failed, name = '', time, unit] = file
      const seconds = Number(time ?? 0) / (unit === 'ms' ? 1_000 : 1)
      times[name] = Math.round(seconds * 1_000) / 1_000
      print(`${failed ? '✗' : '✓'} ${name}  ${seconds.toFixed(1)} s`)
      if (failed) for (const one of kept) print(`  ${one}`)
      kept = []
    },
    counts: () => counts,
    seconds: () => times,
  }
}

/** Everything inside a file but what went well, plans and blank lines. */
function isTelling(line: string): boolean {
  return /^ {4}/.test(line) && !/^\s+(ok \d+|\d+\.\.\d+$|# time=|# Subtest)|^\s*$/.test(line)
}

/** tap's last comment: `# { total: 10, pass: 4, fail: 3, todo: 1, skip: 2 }`; todo counts as skipped. */
function parseCounts(line: string): Counts {
  const count = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(line)?.[1] ?? 0)
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') }
}
