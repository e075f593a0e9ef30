import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { renderSend } from '../../../infra/guides/send.js'
import { packageRoot } from '../../../infra/package-root.js'
import { feedNames, feeds } from '../../../schemas/feed.js'

const page = join(packageRoot(import.meta.url), 'infra', 'guides', 'send.md')
const text = await renderSend()

t.test('the guide matches the feeds and the check', async (t) => {
  const remedy = `regenerate it: node -e "import('./dist/infra/guides/send.js').then((m) => m.renderSend()).then((text) => process.stdout.write(text))" > infra/guides/send.md`
  t.ok(readFileSync(page, 'utf8') === text, remedy)
})

t.test('each good example is published, and each bad one has a rejected row', async (t) => {
  for (const name of feedNames) {
    const section = text.split(`\n## ${name}\n`)[1]?.split('\n## ')[0] ?? ''
    const [good = '', bad = ''] = section.split('\nBad, ')
    t.match(good, /^published: [1-9]\d* accepted, 0 rejected, 0 held$/m, name)
    t.match(bad, /^line \d+, \w*: [A-Z_]+: ./m, name)
  }
})

t.test('the guide describes the contents and format of each column', async (t) => {
  for (const name of feedNames) {
    const table = text.split(`\n## ${name}\n`)[1]?.split('\nGood, ')[0] ?? ''
    const described = [
      ...table.matchAll(/^\| `(\w+)` *\| [^| ][^|]+\| [^| ][^|]+\| (?:yes|may be) /gm),
    ]
    t.same(
      described.map(([, column]) => column),
      feeds[name].columns,
      name,
    )
  }
})
