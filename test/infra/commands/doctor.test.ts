import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { tieline } from '../command-line.js'

t.test('doctor says what is not good and what to do, and starts nothing', async (t) => {
  const folder = t.testdir({ 'profile.yaml': 'companyCodes: [ACME]\n' })
  const home = join(folder, 'data')
  const good = await tieline('doctor', '--home', home)
  t.equal(good.code, 0, good.stdout)
  t.match(good.stdout, /✓ profile .*DEMO/)
  const bad = await tieline('doctor', '--home', home, '--profile', join(folder, 'profile.yaml'))
  t.equal(bad.code, 1)
  t.match(bad.stdout, /✗ profile .*profile\.yaml is not valid:\n {15}timeZone: missing/)
  t.match(bad.stdout, /→ /)
  t.notOk(existsSync(home), 'the data folder is not made')
})
