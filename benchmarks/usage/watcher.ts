import { launchBrowser } from '../../test/rig/chromium.js'

/** A browser that watches the operations page, or looks away. */
export interface Watcher {
  /** Resolves when the page has shown its first figures. */
  watch(): Promise<void>
  lookAway(): Promise<void>
  close(): Promise<void>
}

const blank = 'about:blank'

/** Throws where there is no operations page at the address. */
export async function createWatcher(address: string | undefined): Promise<Watcher> {
  if (address === undefined) throw new Error('the worker has no operations page to watch')
  const browser = await launchBrowser()
  const page = await browser.newPage()
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
