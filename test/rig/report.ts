export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Lines kept of one failing file; the first failures are the most useful. */
const linesMax = 400

/**
 * Reads the TAP of a whole run line by line: one line for each file that passed, all that is not
 * `ok` for each that failed, and tap's own count of assertions at the end. How long a file took is
 * recorded as soon as it has ended.
 */
export function createReader(
  print: (line: string) => void,
  record: (file: string, seconds: number) => void = () => undefined,
): { read(line: string): void; counts(): Counts } {
  let kept: string[] = []
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  /** The file of a process with several that is being read. */
  let open: FileResult | undefined
  let someFailed = false
  const finish = ({ name, seconds, failed }: FileResult) => {
    record(name, Math.round(seconds * 1_000) / 1_000)
    print(`${failed ? '✗' : '✓'} ${name}  ${seconds.toFixed(1)} s`)
    if (failed) for (const one of kept) print(`  ${one}`)
    kept = []
    open = undefined
  }
  return {
    read: (line) => {
      if (/^# \{ total: \d+.*\}$/.test(line)) counts = parseCounts(line)
      const name = /^ {4}# file (\S+)$/.exec(line)?.[1]
      const ended = parseResult(line)
      if (name !== undefined) {
        if (open !== undefined) finish(open)
        open = { name, seconds: 0, failed: false }
      } else if (ended !== undefined) {
        if (open === undefined) finish(ended)
        // A process that ended badly without a failed test failed in its last file.
        else finish({ ...open, failed: open.failed || (ended.failed && !someFailed) })
        someFailed = false
      } else {
        const one = open && parseResult(line.replace(/^ {4}/, ''))
        if (open && one) {
          open = {
            ...open,
            seconds: open.seconds + one.seconds,
            failed: open.failed || one.failed,
          }
          someFailed ||= one.failed
        }
        if (kept.length < linesMax && isTelling(line)) kept.push(line)
      }
    },
    counts: () => counts,
  }
}

interface FileResult {
  readonly name: string
  readonly seconds: number
  readonly failed: boolean
}

/** A file, or a test of one, that has ended. */
function parseResult(line: string): FileResult | undefined {
  const found = /^(not )?ok \d+ - (\S+)(?:.*time=([\d.]+)(m?s))?/.exec(line)
  if (found === null) return undefined
  const [, failed, name = '', time, unit] = found
  const seconds = Number(time ?? 0) / (unit === 'ms' ? 1_000 : 1)
  return { name, seconds, failed: failed !== undefined }
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
