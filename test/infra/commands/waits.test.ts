import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { demoProfilePath } from '../../../infra/stack/profile-file.js'
import { createFolder } from '../../rig/folder.js'
import { header, until } from '../../story/rig/stack.js'
import { createHome, startTieline, tieline } from '../command-line.js'

/** Starts a command and gathers what it says. */
function watch(...args: readonly string[]) {
  const child = startTieline(...args)
  const seen = { text: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      seen.text += text
    })
  }
  return { child, seen, said: (what: string | RegExp) => until(() => seen.text.search(what) >= 0) }
}

t.test('every command reports why a file is waiting or quarantined', async (t) => {
  const folder = createFolder(t)
  const home = await createHome(folder)
  const profile = join(folder, 'full.yaml')
  const name = 'DEMO_02072025_Gas.csv'
  writeFileSync(
    profile,
    readFileSync(demoProfilePath, 'utf8').replace(
      /freeDiskBytesMin: .*/,
      'freeDiskBytesMin: 100 TB',
    ),
  )
  writeFileSync(join(folder, name), `${header}\nA,S,M,7/1/2025,1\n`)
  const up = watch('up', '--home', home, '--profile', profile)
  await up.said('Ctrl-C')

  await t.test('load reports the wait, and after Ctrl-C where the file is', async (t) => {
    const load = watch('load', join(folder, name), '--home', home)
    await load.said(`${name} is waiting: DISK_FULL: ${home}/landing has `)
    load.child.kill('SIGINT')
    const [code] = await once(load.child, 'close')
    t.equal(code, 130)
    t.match(load.seen.text, /submitted; .*\n {2}\S+DEMO_02072025_Gas\.csv, arrival 1\nleave /)
    t.equal(load.seen.text.match(/is waiting:/g)?.length, 1, 'once for each cause')
  })

  await t.test('up names a quarantined file and its reason in one line', async (t) => {
    writeFileSync(join(home, 'inbox', 'two\nlines\x1b[2J.csv'), 'x')
    writeFileSync(join(home, 'inbox', 'two\nlines\x1b[2J.csv.done'), '')
    await up.said(/^two\?lines\?\[2J\.csv is quarantined: FILE_NAME: /m)
    writeFileSync(join(home, 'inbox', 'report.csv'), 'x')
    writeFileSync(join(home, 'inbox', 'report.csv.done'), '')
    await up.said(/^report\.csv is quarantined: FILE_NAME: .* is not <CompanyCode>_.*$/m)
    t.pass()
  })

  await t.test('status and doctor name both, since when, and what to do', async (t) => {
    const status = await tieline('status', '--home', home)
    t.match(status, { code: 0 })
    t.match(
      status.stdout,
      /\nwaiting\n {2}DEMO_02072025_Gas\.csv {2}since 20.* UTC\n {4}DISK_FULL: .*\n {4}→ .*Free some/,
    )
    t.match(
      status.stdout,
      /\nquarantined\n {2}report\.csv {2}since 20.* UTC\n {4}FILE_NAME: .*\n {4}→ .*Rename the file/,
    )
    const doctor = await tieline('doctor', '--home', home)
    t.match(doctor.stdout, /! files +DEMO_02072025_Gas\.csv is waiting since 20\S+Z: DISK_FULL: /)
    t.match(doctor.stdout, /\n +report\.csv is quarantined: FILE_NAME: /)
    t.match(doctor.stdout, /\n +two\?lines\?\[2J\.csv is quarantined: FILE_NAME: /)
  })
  up.child.kill('SIGINT')
  await once(up.child, 'close')
})
