import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../infra/package-root.js'
import { verdictOf, verdicts } from './verdicts.js'

const path = join(packageRoot(import.meta.url), 'infra', 'deploy', 'statements.md')

const intro = `# Statements

What Tieline sends to ClickHouse, and what becomes of it on one server and on replicas. A statement is
listed by what it does and to which tables. \`*\` is the number of a file, a decision or a run.

Each run of the tests records the statements of the programs that it starts, and fails if one of them
has no verdict here. \`TIELINE_WRITE_STATEMENTS=1 npm test\` adds what is not listed yet. What each promise
rests on is in [What Tieline guarantees](../guides/promises.md).
`

/** The page of some shapes, in the order of the verdicts. Throws for a shape without a verdict. */
export function renderStatements(shapes: readonly string[]): string {
  const judged = [...new Set(shapes)].sort().map((shape) => ({ shape, verdict: verdictOf(shape) }))
  const sections = verdicts.flatMap((verdict) => {
    const own = judged.filter((one) => one.verdict === verdict)
    if (own.length === 0) return []
    const lines = own.map(({ shape }) => `- \`${shape}\``).join('\n')
    const { title, oneServer, replicas } = verdict
    return [`## ${title}\n\n- One server: ${oneServer}.\n- Replicas: ${replicas}.\n\n${lines}\n`]
  })
  return [intro, ...sections].join('\n')
}

export function readPage(): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

/** The shapes that the page lists. */
export function listedShapes(page = readPage()): readonly string[] {
  return [...page.matchAll(/^- `([A-Z].*)`$/gm)].map(([, shape = '']) => shape)
}

/** The shapes that the programs of a run wrote into a folder. */
export function recordedShapes(folder: string): readonly string[] {
  const lines = readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean),
  )
  return [...new Set(lines)].sort()
}

/**
 * Holds the statements of a run against the page: returns what is wrong, a line each. Adds those that
 * it does not list if asked to; rare ones do not occur in every run, so that it never loses any.
 */
export function judgeStatements(folder: string, writes: boolean): readonly string[] {
  const recorded = recordedShapes(folder)
  if (writes) writeFileSync(path, renderStatements([...listedShapes(), ...recorded]))
  return recorded.flatMap((shape) => {
    try {
      verdictOf(shape)
      return []
    } catch (error) {
      return [(error as Error).message]
    }
  })
}
