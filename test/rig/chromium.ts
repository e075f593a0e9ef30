import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { findProgram, installPackage } from '../../infra/redis/install.js'

/** Chromium, from Debian's package where it is not here. */
export async function ensureChromium(say: (line: string) => void): Promise<void> {
  if ((await findProgram('chromium')) !== undefined) return
  say('chromium is not here: installing it from the Debian package')
  await installPackage('chromium')
}

/** A browser without a window; root may not use its sandbox. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = await findProgram('chromium')
  if (executablePath === undefined) {
    throw new Error('no chromium found: npm test installs it, or apt-get install chromium')
  }
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

/** The same, until the test ends. */
export async function createBrowser(t: Test): Promise<Browser> {
  const browser = await launchBrowser()
  t.teardown(() => browser.close())
  return browser
}

/** Rows of a chart's canvas that are painted in the colour of a line, for each column of pixels. */
export function paintedColumns(
  page: Page,
  chart: number,
  color: string,
): Promise<readonly (readonly number[])[]> {
  return page.evaluate(
    `(() => {
      const canvas = document.querySelectorAll('canvas')[${chart}]
      const wanted = getComputedStyle(document.documentElement).getPropertyValue('${color}').trim()
      const parts = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16))
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      const columns = Array.from({ length: canvas.width }, () => [])
      for (let at = 0; at < data.length; at += 4) {
        const isLine = data[at + 3] > 200 && parts.every((part, i) => Math.abs(data[at + i] - part) < 6)
        const pixel = at / 4
        if (isLine) columns[pixel % canvas.width].push(Math.floor(pixel / canvas.width))
      }
      return columns
    })()`,
  )
}
