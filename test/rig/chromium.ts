import { type Browser, chromium } from 'playwright-core'
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
