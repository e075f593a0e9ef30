import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../../../infra/package-root.js'

/** The series of a scrape with their values, by `name{label="value"}` as in its text. */
export type Scraped = ReadonlyMap<string, number>

/** Scrapes an operations port. */
export async function scrape(operations: string): Promise<Scraped> {
  const answer = await fetch(`${operations}/metrics`)
  if (!answer.ok) throw new Error(`${operations}/metrics answered ${answer.status}`)
  return parseScrape(await answer.text())
}

/** Reads the Prometheus text format; throws at an invalid line. */
export function parseScrape(text: string): Scraped {
  const label = '[a-zA-Z_]\\w*="(?:[^"\\\\\\n]|\\\\.)*"'
  const line = new RegExp(`^([a-zA-Z_:][\\w:]*(?:\\{(?:${label},?)*\\})?) ([-+\\w.]+)$`)
  const series = new Map<string, number>()
  for (const one of text.split('\n')) {
    if (one === '' || /^# (HELP|TYPE) /.test(one)) continue
    const [, name, value = ''] = line.exec(one) ?? []
    const isNumber = /^nan$/i.test(value) || !Number.isNaN(Number(value))
    if (name === undefined || !isNumber) throw new Error(`not a sample: ${one}`)
    series.set(name, Number(value))
  }
  return series
}

const folder = join(packageRoot(import.meta.url), 'infra', 'metrics')

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[]
}

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[]
}

/** Every alert expression, and its left side, which has values even when nothing is wrong. */
export function alertExpressions(): readonly { readonly expr: string; readonly left: string }[] {
  const { groups } = parse(readFileSync(join(folder, 'alerts.yaml'), 'utf8')) as Rules
  return groups
    .flatMap(({ rules }) => rules)
    .map(({ expr }) => ({ expr, left: expr.replace(/ (>=|==|>|<) [\d.e* ]+$/, '') }))
}

/** Every expression of the dashboard. */
export function dashboardExpressions(): readonly string[] {
  const { panels } = JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8')) as Dashboard
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}
