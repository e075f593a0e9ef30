import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'
import { findProgram, installPackage } from '../infra/redis/install.js'

/** Chromium, from Debian's package where it is not here. */
export async function ensureChromium(say: (line: string) => void): Promise<void> {
  if ((await findProgram('chromium')) !== undefined) return
  say('chromium is not here: installing it from the Debian package')
  await installPackage('chromium')
}

/** A browser without a window until the test ends; root may not use its sandbox. */
export async function createBrowser(t: Test): Promise<Browser> {
  const executablePath = await findProgram('chromium')
  if (executablePath === undefined) {
    throw new Error('no chromium found: npm test installs it, or apt-get install chromium')
  }
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
}
