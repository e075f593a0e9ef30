import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { watched } from '../../../pipeline/sources/drivers.js'
import { createFolder as createSource } from '../../../pipeline/sources/folder.js'
import { createFolder } from '../../rig/folder.js'
import { storyProfile } from '../../story/rig/stack.js'
import { parseSource } from './settings.js'

t.test('a folder that goes away is reported once, and its return once', async (t) => {
  const home = createFolder(t)
  const path = join(home, 'inbox')
  const reported: string[] = []
  const settings = parseSource({ kind: 'folder', name: 'inbox', path })
  const folders = { archive: join(home, 'a'), quarantine: join(home, 'q') }
  const options = { settings, ...folders, naming: storyProfile() }
  const source = watched(createSource(options), (text) => reported.push(text))
  mkdirSync(path)
  t.same(await source.list(), [])
  rmSync(path, { recursive: true })
  for (let look = 0; look < 3; look++) {
    await t.rejects(source.list(), { code: 'SOURCE_UNREACHABLE', message: /inbox does not exist/ })
  }
  mkdirSync(path)
  writeFileSync(join(path, 'a.csv'), 'x')
  t.equal((await source.list()).length, 1)
  await source.list()
  t.same(reported, [
    `source inbox is failing: SOURCE_UNREACHABLE: ${path} does not exist`,
    'source inbox responds again',
  ])
})
