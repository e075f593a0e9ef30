import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createFolder } from '../../rig/folder.js'
import { tieline } from '../command-line.js'

t.test('a folder of files must exist, except the inbox, which a start creates', async (t) => {
  const folder = createFolder(t)
  const [home, profile] = [join(folder, 'data'), join(folder, 'profile.yaml')]
  const write = (path: string) => {
    const sources = [{ kind: 'folder', name: 'drop', path }]
    writeFileSync(
      profile,
      JSON.stringify({ companyCodes: ['ACME'], timeZone: 'America/Chicago', sources }),
    )
  }
  mkdirSync(join(home, 'certificates'), { recursive: true })
  write('inbox')
  const at = ['--home', home, '--profile', profile]
  const good = await tieline('doctor', ...at)
  t.equal(good.code, 0, good.stdout)
  write('drop')
  const bad = await tieline('doctor', ...at)
  t.match([bad.code, bad.stdout], [1, /✗ profile [^→]*source folder .*drop does not exist/])
})
