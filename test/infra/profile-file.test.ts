import { join } from 'node:path'
import { t } from 'tap'
import { demoProfilePath, readProfile } from '../../infra/profile-file.js'
import { parseProfile } from '../../schemas/profile.js'

t.test('the example holds every setting, at its default unless its comment says so', async (t) => {
  const { sources, ...example } = readProfile(demoProfilePath)
  const least = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
  const { sources: none, ...defaults } = least
  t.same(example, defaults)
  t.same(none, [])
  t.match(sources, [{ kind: 'folder', name: 'inbox', path: 'inbox', settlePolls: 2 }])
})

t.test('a file that is no profile says in one line what is wrong with it', async (t) => {
  const folder = t.testdir({ 'torn.yaml': 'a: [1', 'list.yaml': '- 1', 'empty.yaml': '' })
  for (const name of ['torn.yaml', 'list.yaml', 'empty.yaml', 'absent.yaml']) {
    t.throws(() => readProfile(join(folder, name)), { code: 'PROFILE' }, name)
  }
})
