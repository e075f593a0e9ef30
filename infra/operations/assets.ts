import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { packageRoot } from '../package-root.js'
import { readChartLibrary } from './chart-library.js'

/** A static file of the page. */
export interface Asset {
  readonly type: string
  readonly bytes: Buffer
}

const script = 'text/javascript; charset=utf-8'
const style = 'text/css; charset=utf-8'
const html = 'text/html; charset=utf-8'

const scripts = [
  'overview',
  'views',
  'attention',
  'dismiss',
  'gateway',
  'healed',
  'bills',
  'board',
  'charts',
  'elements',
  'session',
  'text',
  'file',
] as const

/** All assets by path, read once: the browser loads nothing from other hosts. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const root = packageRoot(import.meta.url)
  const browser = join(root, 'infra', 'operations', 'browser')
  const compiled = join(root, 'dist', 'infra', 'operations', 'browser')
  const { resolve } = createRequire(import.meta.url)
  const charts = readChartLibrary()
  const read = (type: string, ...path: readonly string[]): Asset => {
    return { type, bytes: readFileSync(join(...path)) }
  }
  return new Map([
    ['/', read(html, browser, 'overview.html')],
    ['/file', read(html, browser, 'file.html')],
    ['/page.css', read(style, browser, 'page.css')],
    ['/icon.svg', read('image/svg+xml', browser, 'icon.svg')],
    ['/lit-html.js', read(script, resolve('lit-html'), '..', '..', 'lit-html.js')],
    ['/uplot.js', { type: script, bytes: charts.script }],
    ['/uplot.css', { type: style, bytes: charts.style }],
    ...scripts.map((name) => [`/${name}.js`, read(script, compiled, `${name}.js`)] as const),
  ])
}
