import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'

const root = packageRoot(import.meta.url)
const read = (...path: readonly string[]) => readFileSync(join(root, 'infra', ...path), 'utf8')
const pages = [
  read('operations', 'browser', 'page.css'),
  // A report has the style of the page and its own.
  read('report', 'browser', 'report.css'),
]

/** The colours of a scheme by name. */
function colorsOf(block: string): ReadonlyMap<string, string> {
  const found = [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)]
  return new Map(found.map(([, name = '', color = '']) => [name, color]))
}

/** Relative luminance and contrast by WCAG 2.2. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const texts = [
  ['ink', 'sheet'],
  ['ink', 'ground'],
  ['quiet', 'sheet'],
  ['link', 'sheet'],
  ['sheet', 'link'],
  ['good', 'good-ground'],
  ['good', 'sheet'],
  ['warn', 'warn-ground'],
  ['bad', 'bad-ground'],
  ['bad', 'sheet'],
] as const
/** Graphics need a contrast of 3 to 1. */
const drawings = [
  ...[1, 2, 3, 4, 5, 6].map((line) => [`line-${line}`, 'sheet'] as const),
  ['bad', 'rule'],
] as const

t.test('text and graphics have the contrast of WCAG 2.2 AA, in light and dark', async (t) => {
  const [page = [], report = []] = pages.map((css) =>
    css.split('@media (prefers-color-scheme: dark)'),
  )
  t.same([page.length, report.length], [2, 2])
  for (const [at, scheme] of page.entries()) {
    const colors = colorsOf(`${scheme}${report[at]}`)
    const ratio = ([one, other]: readonly [string, string]) =>
      contrast(colors.get(one) ?? '', colors.get(other) ?? '')
    for (const pair of texts) t.ok(ratio(pair) >= 4.5, `${pair.join(' on ')}: ${ratio(pair)}`)
    for (const pair of drawings) t.ok(ratio(pair) >= 3, `${pair.join(' on ')}: ${ratio(pair)}`)
  }
})
