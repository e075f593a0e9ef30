import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { type ReadAccess, renderTools, renderToolsGuide } from '../../../infra/guides/tools.js'
import { packageRoot } from '../../../infra/package-root.js'

const page = join(packageRoot(import.meta.url), 'infra', 'guides', 'tools.md')

t.test('the guide is what the command prints', (t) => {
  const remedy = `regenerate it: node -e "import('./dist/infra/guides/tools.js').then((m) => process.stdout.write(m.renderToolsGuide()))" > infra/guides/tools.md`
  t.ok(readFileSync(page, 'utf8') === renderToolsGuide(), remedy)
  t.end()
})

t.test('a server of your own has its address, its port and its users', (t) => {
  const access: ReadAccess = {
    url: 'https://clickhouse.example.com',
    database: 'acme',
    user: "o'hara",
    password: { kind: 'administrator' },
  }
  const text = renderTools(access)
  t.match(text, "curl -sS --user 'o'\\''hara':")
  t.match(text, 'port=443, secure=True')
  t.match(text, 'jdbc:clickhouse:https://clickhouse.example.com/acme')
  t.notMatch(text, /ssh|reader add|secrets\.json|127\.0/)
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(text) ?? []
  t.match(parse(yaml), {
    datasources: [{ url: access.url, jsonData: { defaultDatabase: 'acme' } }],
  })
  t.end()
})
