import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { demoProfilePath } from '../../../infra/stack/profile-file.js'
import { anyPort } from '../../rig/any-port.js'
import { createFolder } from '../../rig/folder.js'
import { sample } from '../../rig/sample.js'
import { createSmallDisk, type SmallDisk } from '../../rig/small-disk.js'
import { createHome, interrupt, oneDay, readerOf, startUntil } from '../command-line.js'

const megabytes = 600
const disk = createSmallDisk(t, megabytes)
const outside = createFolder(t)
const inbox = join(outside, 'inbox')
await mkdir(inbox)

/** The demo's profile with a source on another disk, and no reserve of free space. */
const profilePath = join(outside, 'profile.yaml')
const text = readFileSync(demoProfilePath, 'utf8')
  .replace(/freeDiskBytesMin: 1 GB.*/, 'freeDiskBytesMin: 0 B')
  .replace(/path: inbox\b/, `path: ${inbox}`)
writeFileSync(profilePath, text)

const home = await createHome(disk.path)
// Ports that no other test takes while a server is down.
const port = anyPort()
const ports = ['--clickhouse-port', String(port), '--redis-port', String(port + 1_000)]
const args = ['--home', home, '--profile', profilePath, ...ports]
const { child: up } = await startUntil('Ctrl-C', 'up', ...args)
t.teardown(() => void up.kill('SIGKILL'))

const sql = readerOf(t, home)
const published = () => sql("SELECT count() FROM file_load WHERE status = 'published'")

let day = 0
/** Puts a file of 960 reads into the source. */
const send = async () => {
  day++
  const firstDay = `2025-07-${String(day).padStart(2, '0')}`
  const file = join(inbox, `DEMO_${String(day + 1).padStart(2, '0')}082025_Electric.csv`)
  await usageFile(file, { ...oneDay, firstDay })
  writeFileSync(`${file}.done`, '')
}
const untilPublished = async (count: number) => {
  for (let look = 0; look < 240 && (await published()) !== String(count); look++) await sleep(500)
  return published()
}

t.test('the line works before', async (t) => {
  await send()
  t.equal(await untilPublished(1), '1')
})

/** When the disk becomes full: before a file arrives, or after so many milliseconds. */
const moments = sample({
  short: [-500, 250, 1_000],
  long: [-500, 0, 250, 500, 750, 1_000, 1_500],
})

for (const ms of moments) {
  t.test(`a disk that is full ${ms} ms into a load stops intake, not readers`, async (t) => {
    const before = day
    if (ms < 0) {
      disk.fill()
      await sleep(-ms)
    }
    await send()
    await sleep(Math.max(0, ms))
    await fullFor(disk, 4_000, async () => {
      t.equal(await sql(`SELECT count() >= ${before * 960} FROM usage`), '1', 'readers go on')
      if (ms < 0) t.equal(await published(), String(before), 'intake stops')
    })
    t.equal(await untilPublished(before + 1), String(before + 1))
    t.equal(await sql('SELECT count() FROM usage'), String((before + 1) * 960))
  })
}

/** Keeps the disk full to the last byte for a while. */
async function fullFor(disk: SmallDisk, ms: number, look: () => Promise<void>): Promise<void> {
  const until = Date.now() + ms
  while (Date.now() < until) {
    disk.fill()
    await sleep(100)
  }
  await look()
  disk.free()
}

t.test('servers that are killed while the disk is full come back with space', async (t) => {
  const before = day
  await send()
  const pids = ['clickhouse', 'redis'].map((name) => {
    const { pid } = JSON.parse(readFileSync(join(home, name, `${name}.pid`), 'utf8'))
    return pid as number
  })
  for (let at = 0; at < 60; at++) {
    disk.fill()
    if (at === 5) for (const pid of pids) process.kill(pid, 'SIGKILL')
    await sleep(100)
  }
  disk.free()
  t.equal(await untilPublished(before + 1), String(before + 1))
  t.equal(await sql('SELECT count() FROM usage'), String((before + 1) * 960))
  t.equal(up.exitCode, null)
})

t.test('all processes go on until they are asked to end', async (t) => {
  t.equal(await interrupt(up), 0)
})
