import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readChartLibrary } from '../operations/chart-library.js'
import { packageRoot, packageVersion } from '../package-root.js'
import { causesSection, outliersSection, totalsSection } from './bills.js'
import type { ReportFacts } from './facts.js'
import { html, trusted } from './html.js'
import { completenessSection, shapeSection } from './usage.js'

/**
 * One page with everything in it. Its policy allows its own styles and scripts by their hashes, and
 * nothing else: no request leaves it, and no script of a value could run.
 */
export function renderReport(facts: ReportFacts): string {
  const { style, scripts } = readParts()
  const { cycleId, first, last, computedAt, knownAt, run, timeZone } = facts.run
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${scripts.map(hashOf).join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const title = `Billing cycle ${cycleId}, ${first} to ${last}`
  const [library = '', draw = ''] = scripts
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${trusted(style)}</style>
<script>${trusted(library)}</script>
</head>
<body>
<header class="top"><h1>${title}</h1></header>
<main>
<p class="note">Run ${run}, computed ${computedAt.slice(0, 19)} UTC from files published until ${knownAt.slice(0, 19)} UTC. Reads are those stored now. Days and hours are of ${timeZone}.</p>
<noscript><p class="fault">The charts need JavaScript. The tables have the same values.</p></noscript>
${totalsSection(facts)}
${causesSection(facts)}
${outliersSection(facts)}
${completenessSection(facts)}
${shapeSection(facts)}
<p class="note">Tieline ${packageVersion()}</p>
</main>
<script type="module">${trusted(draw)}</script>
</body>
</html>
`.markup
}

function readParts() {
  const root = packageRoot(import.meta.url)
  const read = (...path: readonly string[]) => readFileSync(join(root, ...path), 'utf8')
  const library = readChartLibrary()
  const styles = [
    library.style.toString('utf8'),
    read('infra', 'operations', 'browser', 'page.css'),
    read('infra', 'report', 'browser', 'report.css'),
  ]
  const draw = read('dist', 'infra', 'report', 'browser', 'draw.js')
  return { style: styles.join('\n'), scripts: [library.script.toString('utf8'), draw] }
}

/** A source of a Content-Security-Policy. */
function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
