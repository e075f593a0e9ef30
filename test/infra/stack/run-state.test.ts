import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { claimFolder } from '../../../infra/stack/claim.js'
import { openHome } from '../../../infra/stack/home.js'
import { claimHome, readRun, writeRun } from '../../../infra/stack/run-state.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'

const run = {
  command: 'up',
  stays: true,
  database: 'tieline',
  profile: parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' }),
  clickhouse: { url: 'http://127.0.0.1:8123', embedded: true },
  redis: { url: 'redis://127.0.0.1:6379', embedded: true },
}

t.test('a data folder belongs to one stack at a time', async (t) => {
  const home = openHome(createFolder(t))
  const claim = await claimHome(home)
  await t.rejects(claimHome(home), { code: 'ALREADY_RUNNING', message: /process that is starting/ })
  writeRun(home, run)
  await t.rejects(claimHome(home), {
    code: 'ALREADY_RUNNING',
    message: new RegExp(`pid ${process.pid}`),
  })
  await claim.release()
  t.equal(readRun(home), undefined, 'run.json goes with the claim')
  const again = await claimHome(home)
  await again.release()
})

t.test('a claim is of the folder, whatever its path', async (t) => {
  const folder = createFolder(t)
  const path = join(folder, 'data')
  mkdirSync(path)
  const claim = await claimFolder(path)
  const moved = join(folder, 'moved')
  renameSync(path, moved)
  mkdirSync(path)
  const other = await claimFolder(path)
  await t.rejects(claimFolder(moved), { code: 'EADDRINUSE' })
  await other.release()
  await claim.release()
})

t.test('the end of a claim leaves the run.json of a stack in another container', async (t) => {
  const home = openHome(createFolder(t))
  const path = join(home.path, 'run.json')
  const claim = await claimHome(home)
  writeRun(home, run)
  const state = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...state, ticks: '1' }))
  await claim.release()
  t.ok(existsSync(path))
})

t.test('a run.json is believed only while its very process lives', async (t) => {
  const home = openHome(createFolder(t))
  const path = join(home.path, 'run.json')
  t.equal(readRun(home), undefined, 'none')
  writeRun(home, run)
  t.match(readRun(home), { ...run, pid: process.pid })
  const state = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...state, pid: 4_194_305 }))
  t.equal(readRun(home), undefined, 'the pid is nobody')
  writeFileSync(path, JSON.stringify({ ...state, ticks: '1' }))
  t.equal(readRun(home), undefined, 'the pid is another program now')
  writeFileSync(path, '{"pid":')
  t.equal(readRun(home), undefined, 'half a file')
})
