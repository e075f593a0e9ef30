import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DCLinter } from 'dclint'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../../infra/package-root.js'
import { versionsKnownGood } from '../../../infra/schema/self-test.js'
import { readProfile } from '../../../infra/stack/profile-file.js'

const root = packageRoot(import.meta.url)
const folder = join(root, 'infra', 'deploy')
const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')

/** What the linter says of a compose file; its own types do not resolve here. */
interface Linted {
  readonly messages: readonly { readonly rule: string; readonly message: string }[]
}

t.test('the compose file is as the Compose Specification has it', async (t) => {
  const judge = (path: string) => {
    const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] })
    const judged: readonly Linted[] = linter.lintFiles([path], false)
    const found = judged.flatMap(({ messages }) => messages)
    return found.filter(({ rule }) => rule === 'invalid-schema').map(({ message }) => message)
  }
  const wrong = (from: string, to: string) =>
    judge(join(t.testdir({ 'compose.yaml': text.replace(from, to) }), 'compose.yaml'))
  t.same(judge(join(folder, 'compose.yaml')), [])
  t.match(wrong('mem_limit:', 'memory_limit:'), [/services\/tieline.+ additional properties/])
  t.match(wrong('read_only: true', 'read_only: [true]'), [/read_only.+ must be boolean/])
})

t.test('compose has what the profile of its header needs', async (t) => {
  const { tieline, clickhouse } = parse(text).services
  const path = join(root, 'infra/profiles/gateway.yaml')
  const { gateway } = readProfile(path)
  const { certFile = '' } = gateway?.listen?.tls ?? {}
  const mounted = `./${dirname(certFile)}:/data/${dirname(certFile)}:ro`
  t.ok(tieline.volumes.includes(mounted), mounted)
  const needed = readFileSync(path, 'utf8').match(/^[^#\n]*\{ env: (\w+) \}/gm) ?? []
  t.ok(needed.length > 0)
  for (const line of needed) {
    const [, name] = /env: (\w+)/.exec(line) ?? []
    t.match(text, new RegExp(`^#.*[ '\\\\n]${name}=.* > ${tieline.env_file[0].slice(2)}\\)$`, 'm'))
  }
  for (const name of ['server.pem', 'server.key', 'platform-ca.pem']) t.ok(text.includes(name))
  t.match(text, /^#.*gateway\.operations\.host to 0\.0\.0\.0/m, 'its port is published')
  const [, version = ''] = clickhouse.image.split(':')
  t.ok(
    versionsKnownGood.some((one) => one === version),
    version,
  )
})
