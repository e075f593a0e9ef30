import t from 'tap'
import { createBrowser } from '../../../rig/chromium.js'
import { openPage } from '../../../story/rig/browser-page.js'
import { header, openStory, until } from '../../../story/rig/stack.js'

const story = await openStory(t)
const browser = await createBrowser(t)
const address = story.stack.worker.detail().operations ?? ''

/** What a page that takes a value for markup, a script, a template or a style would act on. */
const hostile = [
  '<script>window.ran = 1<\\script>',
  '<img src=x onerror=window.ran=1>',
  '"><svg onload=window.ran=1>',
  "' autofocus onfocus=window.ran=1 '",
  '</title><style>*{display:none}<!--',
  '{{window.ran=1}}#{window.ran=1}',
  'javascript:window.ran=1',
  '=cmd|" C calc"!A1',
  '+1-1@SUM(A1)',
  '&lt;b&gt;&#60;i&#62;',
  'a\u202egnp.exe\u2066\u200b',
  'two\nlines\r\ttab\u0007',
  '%0d%0aSet-Cookie: a=b',
]
const names = [
  ...hostile.map((text) => `${text.replaceAll('/', '\\')}_05032024_Electric.csv`),
  `${'<b>'.repeat(75)}_05032024_Electric.csv`,
]

const shown = (text: string) => text.replace(/\p{C}/gu, '?')
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

t.test('names and values of senders are text on each page', async (t) => {
  const rows = hostile.map((text, at) => {
    const cells = [quoted(text), quoted(`S${text}`), quoted(`M${text}`)]
    return [...cells, '3/4/2024 0:00', at % 2 === 0 ? '1' : quoted(text)].join(',')
  })
  const text = `${[header, ...rows].join('\n')}\n`
  for (const name of names) await story.send(name, text)
  await story.loadBytes('DEMO_05032024_Electric.csv', text)
  const settled = async () => {
    const [row] = await story.store.rows<{ files: string }>({
      sql: 'SELECT toString(count()) AS files FROM file_state FINAL WHERE settled_at IS NOT NULL',
    })
    return Number(row?.files) === names.length + 1
  }
  await until(settled)
  const files = await story.store.rows<{ arrival: number; name: string }>({
    sql: 'SELECT arrival, name FROM arrival ORDER BY arrival',
  })
  t.same(files.map(({ name }) => name).sort(), [...names, 'DEMO_05032024_Electric.csv'].sort())

  const pages = ['/', ...files.map(({ arrival }) => `/file?arrival=${arrival}`)]
  for (const [at, path] of pages.entries()) {
    const { page, errors } = await openPage(browser, `${address}${path}`)
    const expected = at === 0 ? names : [files[at - 1]?.name ?? '']
    const read = async () => (await page.locator('main').textContent()) ?? ''
    await until(async () => {
      const found = await read()
      return expected.every((name) => found.includes(shown(name)))
    })
    t.notMatch((await read()).replace(/\n/g, ' '), /\p{C}/u, `${path}: nothing turns or hides text`)
    const injected = 'main :is(script, img, style, iframe, b, i), [onerror], [onload], [onfocus]'
    t.equal(await page.locator(injected).count(), 0, 'no element is made of a name')
    t.equal(await page.evaluate('window.ran'), undefined, 'no script of a name has run')
    t.same(errors, [])
    await page.close()
  }
})

t.test('what is downloaded of a hostile name has its name in one header', async (t) => {
  const files = await story.store.rows<{ arrival: number }>({ sql: 'SELECT arrival FROM arrival' })
  for (const { arrival } of files) {
    const answer = await fetch(`${address}/files/${arrival}/download/receipt`)
    t.equal(answer.status, 200)
    t.match(
      answer.headers.get('content-disposition'),
      /^attachment; filename\*=UTF-8''[\w%.~!*-]+$/,
    )
    t.equal(answer.headers.get('set-cookie'), null)
  }
})
