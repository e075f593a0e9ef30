import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { createFolder } from '../../rig/folder.js'
import { createHome, oneDay, readStopped, tieline } from '../command-line.js'

t.setTimeout(300_000)

const folder = createFolder(t)
const home = await createHome(folder)
const forget = (machine: string) => tieline('forget-machine', machine, '--home', home)
const acts = () => readStopped(home, "SELECT subject FROM audit_log WHERE act = 'forget'")

t.test('a machine that has reported is forgotten, and the audit log names it', async (t) => {
  const path = join(folder, 'DEMO_02072025_Electric.csv')
  await usageFile(path, oneDay)
  t.match(await tieline('load', path, '--home', home), { code: 0 })
  const machine = readFileSync(join(home, 'machine'), 'utf8').trim()

  const unknown = await forget('nobody')
  t.match(unknown, { code: 1, stderr: /no machine nobody has reported/ })
  t.equal(await acts(), '', 'what is refused is not recorded')

  t.match(await forget(machine), { code: 0, stdout: `${machine} is forgotten\n` })
  t.equal((await acts()).trim(), machine)
})
