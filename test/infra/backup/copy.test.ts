import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { copyBack, copyParts, partsOf } from '../../../infra/backup/copy.js'
import { sourceSettings } from '../../../schemas/settings/source.js'
import { createFolder } from '../../rig/folder.js'

t.test('what a link leads to in the data folder is a part of a backup', async (t) => {
  const folder = createFolder(t)
  const [home, other] = [join(folder, 'home'), join(folder, 'other')]
  for (const path of [join(home, 'meters'), other]) mkdirSync(path, { recursive: true })
  symlinkSync(join(home, 'meters'), join(folder, 'in'))
  symlinkSync(other, join(home, 'out'))
  const sources = ['rates', join(folder, 'in'), 'out', other].map((path, at) =>
    sourceSettings.parse({ name: `s${at}`, kind: 'folder', path }),
  )
  const none = partsOf(home, { sources: [] })
  t.same(partsOf(home, { sources }).slice(none.length), ['rates', 'meters', 'out'])
})

t.test('a backup that lacks a file is refused', async (t) => {
  const folder = createFolder(t)
  const [home, to] = [join(folder, 'home'), join(folder, 'backup')]
  mkdirSync(home)
  for (const name of ['machine', 'profile.path']) writeFileSync(join(home, name), name)
  const { signal: ending } = new AbortController()
  await copyParts({ from: home, to, ending }, ['machine', 'profile.path'])
  rmSync(join(to, 'profile.path'))
  await t.rejects(copyBack({ from: to, to: join(folder, 'restored'), ending }), {
    code: 'CONFIG',
    detail: `${join(to, 'profile.path')} is missing in the backup; use another backup`,
  })
})
