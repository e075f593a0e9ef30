import type { Browser, Page } from 'playwright-core'
import { until } from './stack.js'

/** A page of a telephone's width that collects script errors and what its policy refuses. */
export async function openPage(browser: Browser, url: string) {
  const page = await browser.newPage({ viewport: { width: 360, height: 800 } })
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  await page.goto(url)
  return { page, errors }
}

export async function panelText(page: Page, panel: string): Promise<string> {
  return (await page.locator(`[data-panel="${panel}"]`).textContent()) ?? ''
}

/** Waits until a panel shows some text, without a reload of its page. */
export const shows = (page: Page, panel: string, text: RegExp) =>
  until(async () => text.test(await panelText(page, panel)))

export const fitsWidth = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')

/** Whether no table has to be scrolled sideways, so that each cell is in sight. */
export const hasAllColumns = (page: Page) =>
  page.evaluate(
    "[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)",
  )
