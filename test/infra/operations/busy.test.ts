import t from 'tap'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { createBrowser } from '../../rig/chromium.js'
import { openPage, panelText, shows } from '../../story/rig/browser-page.js'
import { header, openStory, until } from '../../story/rig/stack.js'

const story = await openStory(t)
const browser = await createBrowser(t)
const address = story.stack.worker.detail().operations ?? ''

/** More statements than the engine runs at a time; each holds its place for as long. */
const statementsHeld = 30
const secondsHeld = 60

function holdEngine() {
  const stores = [createStore(story.stack.store), createStore(story.stack.store)]
  const statement = {
    sql: `SELECT sum(sleepEachRow(0.5)) AS slept FROM numbers(${2 * secondsHeld})
      SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0`,
  }
  const held = Array.from({ length: statementsHeld }, (_, at) => {
    return stores[at % 2]?.rows(statement).catch(() => undefined)
  })
  return {
    /** The engine kills a statement whose client has left. */
    release: async () => {
      await Promise.all(stores.map((store) => store.close()))
      await Promise.all(held)
    },
  }
}

t.test('a busy ClickHouse is not unreachable: the last figures stay, with their age', async (t) => {
  await story.loadBytes('DEMO_05032024_Electric.csv', `${header}\n1,2,M-1,3/4/2024 0:00,1\n`)
  const { page, errors } = await openPage(browser, `${address}/`)
  const servers = async () => (await page.locator('#servers').textContent()) ?? ''
  await shows(page, 'files', /DEMO_05032024_Electric\.csv/)
  await shows(page, 'attention', /No file is waiting/)
  const load = holdEngine()
  await shows(page, 'files', /ClickHouse is busy; figures of \d\d:\d\d:\d\d UTC, .* old/)
  t.match(await panelText(page, 'files'), /DEMO_05032024_Electric\.csv/)
  const color = 'getComputedStyle(document.querySelector(\'[data-panel="files"] .stale\')).filter'
  t.equal(await page.evaluate(color), 'grayscale(1)')
  await until(async () => /STORE_BUSY: ClickHouse is busy/.test(await servers()))
  await shows(page, 'sources', /ClickHouse is busy/)
  t.equal(await page.locator('#servers li').count(), 1)
  t.equal(await page.locator('.fault').count(), 0)
  const detail = await fetch(`${address}/files/1`)
  t.match([detail.status, await detail.json()], [503, { code: 'STORE_BUSY' }])
  t.notMatch(await page.locator('main').textContent(), /UNREACHABLE/)
  await load.release()
  await until(async () => (await servers()).trim() === '')
  await until(async () => !/busy/.test(await panelText(page, 'files')))
  t.same(errors, [])
})
