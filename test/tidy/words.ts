import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../infra/package-root.js'

const root = packageRoot(import.meta.url)

/** Files that people read, whose words are checked; what tests quote and records of runs are not. */
const paths = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => /\.(ts|sql|md|html|yaml|mjs)$/.test(path))
  .filter((path) => !/^(test\/tidy\/words\.ts|test\/golden\/|benchmarks\/results\/)/.test(path))

/** English that has to be decoded, and what to write instead. */
const banned: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(un)?(tells?|telling|told)\b/i, 'report, record, notify, derive, distinguish'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\banew\b/i, 'again'],
  [/\bbesides\b/i, 'in addition'],
  [
    /(?<!\bthere )\b(is|are|was|were) no (?!longer\b|more\b|less\b|later\b|earlier\b)[a-z]/i,
    'is not a',
  ],
  [/\bto be seen to\b/i, 'needs attention'],
  [/\bstands? (in|at|for|there|beside|below|above)\b/i, 'is in, is stored in'],
  [/^\W*Who [a-z]+s /, 'a clause that starts with the subject'],
]

/** A sentence of a guide that is longer than this is two. */
const wordsMax = 25
const guides = paths.filter((path) =>
  /^(README|DECISIONS|ARCHITECTURE|CHANGELOG)\.md$|^(infra|api|pipeline|schemas|benchmarks)\/.*\.md$/.test(
    path,
  ),
)

t.test('texts for people use plain words', async (t) => {
  t.ok(paths.length > 400, 'the tree was found')
  for (const path of paths) {
    for (const [index, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
      for (const [pattern, instead] of banned) {
        if (pattern.test(line)) t.fail(`${path}:${index + 1}: ${instead}: ${line.trim()}`)
      }
    }
  }
})

t.test('a sentence of a guide has at most 25 words', async (t) => {
  t.ok(guides.length > 15, 'the guides were found')
  for (const path of guides) {
    for (const sentence of sentencesOf(readFileSync(join(root, path), 'utf8'))) {
      const count = sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length
      if (count > wordsMax) t.fail(`${path}: ${count} words: ${sentence}`)
    }
  }
})

t.test('the pages of the root have no line that is too long to read', async (t) => {
  const pages = guides.filter((path) => !path.includes('/'))
  t.equal(pages.length, 4)
  for (const path of pages) {
    const prose = readFileSync(join(root, path), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
    const long = prose.split('\n').filter((line) => line.length > 100 && !line.startsWith('|'))
    t.same(long, [], path)
  }
})

t.test('a decision that is mentioned is in DECISIONS.md', async (t) => {
  const page = readFileSync(join(root, 'DECISIONS.md'), 'utf8')
  const known = new Set([...page.matchAll(/^## (\d+)\. /gm)].map(([, number]) => number))
  t.ok(known.size >= 32)
  for (const path of paths) {
    for (const [text, numbers = ''] of readFileSync(join(root, path), 'utf8').matchAll(
      /\bdecisions? (\d+(?:(?:, | and |, and | to )\d+)*)/gi,
    )) {
      for (const number of numbers.match(/\d+/g) ?? []) {
        if (!known.has(number)) t.fail(`${path}: ${text} is not in DECISIONS.md`)
      }
    }
  }
})

/** Prose of a page: no code, no tables, no headings; a link counts as its text, code as one word. */
function sentencesOf(page: string): readonly string[] {
  return page
    .replaceAll(/^```[\s\S]*?^```/gm, '\n\n')
    .replaceAll(/^(?:\||#|\[[\w-]+\]:).*$/gm, '\n\n')
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .flatMap((paragraph) => paragraph.replaceAll('\n', ' ').split(/(?<=[.!?;:])\s+/))
}
