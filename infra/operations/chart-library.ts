import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Script and style of the package uplot, as files for a browser. The script defines `uPlot`. */
export function readChartLibrary(): { readonly script: Buffer; readonly style: Buffer } {
  const folder = join(createRequire(import.meta.url).resolve('uplot'), '..')
  return {
    script: readFileSync(join(folder, 'uPlot.iife.min.js')),
    style: readFileSync(join(folder, 'uPlot.min.css')),
  }
}
