import { chromium, type Page } from 'playwright-core'
import { findProgram } from '../infra/redis/install.js'

/** A browser that watches the operations page, or looks away. */
export interface Watcher {
  /** Resolves when the page has shown its first figures. */
  watch(): Promise<void>
  lookAway(): Promise<void>
  close(): Promise<void>
}

const blank = 'about:blank'

export async function createWatcher(address: string | undefined): Promise<Watcher> {
  const executablePath = await findProgram('chromium')
  if (address === undefined || executablePath === undefined) {
    throw new Error('watching needs an operations page and chromium: apt-get install chromium')
  }
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const page: Page = await browser.newPage()
  return {
    watch: async () => {
      await page.goto(address)
      for (const panel of await page.locator('[data-panel]').all()) {
        await panel.locator(':not(h2)').first().waitFor()
      }
    },
    lookAway: async () => void (await page.goto(blank)),
    close: () => browser.close(),
  }
}
