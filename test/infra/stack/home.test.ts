import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { homeFolders, openHome, refuseForeign } from '../../../infra/stack/home.js'

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

t.test('makes its folders and secrets for this user alone', async (t) => {
  const home = openHome(join(t.testdir(), 'deep', 'data'))
  for (const name of homeFolders) t.equal(modeOf(home[name]), '700', name)
  t.equal(modeOf(join(home.path, 'secrets.json')), '600')
  const passwords = new Set(Object.values(home.secrets))
  t.equal(passwords.size, 3, 'three different passwords')
  for (const password of passwords) t.match(password, /^[0-9a-f]{48}$/)
})

t.test('a second opening finds the same secrets', async (t) => {
  const folder = t.testdir()
  const { secrets } = openHome(folder)
  chmodSync(join(folder, 'secrets.json'), 0o644)
  t.same(openHome(folder).secrets, secrets)
  t.equal(modeOf(join(folder, 'secrets.json')), '600', 'and closes them again')
})

t.test('says what is wrong with a folder that cannot be one', async (t) => {
  const folder = t.testdir({ file: 'x', 'secrets.json': '{"writer": 1}' })
  t.throws(() => openHome(join(folder, 'file')), { code: 'CONFIG', message: /file/ })
  t.throws(() => openHome(folder), { code: 'CONFIG', message: /secrets\.json/ })
  t.equal(readFileSync(join(folder, 'secrets.json'), 'utf8'), '{"writer": 1}', 'left as it was')
  writeFileSync(join(folder, 'secrets.json'), 'not json')
  t.throws(() => openHome(folder), { code: 'CONFIG' })
  symlinkSync(join(folder, 'gone'), join(folder, 'dangling'))
  const message = /dangling is a link to .*gone, which does not exist; create it/
  t.throws(() => openHome(join(folder, 'dangling')), { code: 'CONFIG', message })
  t.throws(() => openHome(join(folder, 'dangling/data')), { code: 'CONFIG', message })
  t.throws(() => openHome('/proc/none'), { code: 'CONFIG' }, 'a place that takes no folders')
})

t.test(
  'refuses a path that ClickHouse would take for a pattern, and creates nothing',
  async (t) => {
    const folder = t.testdir()
    for (const character of '{}*?') {
      const path = join(folder, `a${character}b`)
      const message = `the path ${path} of the data folder has the character ${character}, `
      t.throws(() => openHome(join(path, 'data')), { code: 'CONFIG', message: /--home/ })
      t.throws(() => openHome(path), { code: 'CONFIG', message })
      t.notOk(existsSync(path))
    }
    mkdirSync(join(folder, 'real?'))
    symlinkSync(join(folder, 'real?'), join(folder, 'link'))
    t.throws(() => openHome(join(folder, 'link')), {
      code: 'CONFIG',
      message: /has the character \?/,
    })
    openHome(join(folder, "it's [one] (&) ü"))
  },
)

const needsRoot = process.getuid?.() === 0 ? false : 'needs root'

t.test('root starts nothing on the data folder of another user', { skip: needsRoot }, async (t) => {
  const home = openHome(t.testdir())
  refuseForeign(home)
  chownSync(home.path, 12_345, 12_345)
  t.throws(() => refuseForeign(home), {
    code: 'PERMISSION',
    message: /belongs to uid 12345, not to root; run the command as this user/,
  })
})
