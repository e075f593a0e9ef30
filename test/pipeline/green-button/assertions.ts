import { type Assertion, assertionsOf, failuresOf, suites } from './judge.js'

/** Suites about what the files of utilities do not contain, and why none of their assertions applies. */
export const absent: Readonly<Record<string, string>> = {
  FB_06: 'Tieline loads no demand reads',
  FB_08: 'a file has one signed quantity for each interval; FB_07 has it as net flow',
  FB_09: 'Tieline loads no register reads',
  FB_11: 'Tieline has no feed for water',
  FB_17: 'Tieline loads no voltage and power quality',
  FB_27: 'Tieline loads no demand reads, and summaries are for periods that have ended',
  FB_28: 'summaries are for periods that have ended, so there is only the bill of the period',
  FB_29: 'Tieline loads no temperatures',
}

const open = 'summaries are for periods that have ended'
/** Single assertions of the other suites that do not apply. */
export const absentTests: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['D095', 'D096', 'D097', 'D098'].map((test) => [test, open])),
}

export interface SuiteResult {
  readonly suite: string
  readonly assertions: readonly Assertion[]
  readonly failures: readonly string[]
}

/** What suites say about the file of a feed: all of them, or some. */
export function judge(path: string, asked: readonly string[] = suites): readonly SuiteResult[] {
  return asked.map((suite) => ({
    suite,
    assertions: assertionsOf(suite),
    failures: failuresOf(suite, path),
  }))
}

/** Failures of assertions that apply. */
export function mistakes(results: readonly SuiteResult[]): readonly string[] {
  return results.flatMap(({ suite, failures }) =>
    failures
      .filter((test) => absent[suite] === undefined && absentTests[test] === undefined)
      .map((test) => `${suite} ${test}`),
  )
}

const preface = [
  'A test writes these tables. Its customer has three meters (electricity, net generation, gas) and their bills.',
  'The feed is valid by the schema of ESPI 4.0. Below is what the seventeen suites of Schematron rules assert.',
  '',
]

/** The results as the section of the guide. */
export function renderAssertions(results: readonly SuiteResult[]): string {
  return [...preface, ...results.flatMap(renderSuite)].join('\n')
}

function renderSuite({ suite, assertions, failures }: SuiteResult): readonly string[] {
  const outcome = (test: string) => {
    const reason = absent[suite] ?? absentTests[test]
    if (reason !== undefined) return `does not apply: ${reason}`
    return failures.includes(test) ? '**fails**' : 'passes'
  }
  const rows = assertions.map(({ test, name, says }) => [test, name, says, outcome(test)])
  const titles = ['test', 'of', 'asserts', 'outcome']
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] as string).length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] as number)).join(' | ')} |`
  return [
    `### ${suite}`,
    '',
    line(titles),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
    '',
  ]
}
