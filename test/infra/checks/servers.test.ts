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

t.test('a redis-server that does not run is one problem among the other checks', async (t) => {
  const folder = createFolder(t)
  const text = '#!/bin/sh\necho "cannot open shared object file" >&2\nexit 127\n'
  writeFileSync(join(folder, 'redis-server'), text, { mode: 0o755 })
  const before = process.env['PATH']
  t.teardown(() => {
    process.env['PATH'] = before
  })
  process.env['PATH'] = `${folder}:${before}`
  const { code, stdout } = await tieline('doctor', '--home', join(folder, 'data'))
  t.equal(code, 1)
  t.match(stdout, /✗ Redis +\S+redis-server does not run: cannot open shared.*\n +→ install /)
  t.match(stdout, /✓ ClickHouse/, 'the other checks are made')
})
