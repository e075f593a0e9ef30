import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { createFolder } from '../../rig/folder.js'
import { createHome, interrupt, oneDay, readerOf, startUntil } from '../command-line.js'

const folder = createFolder(t)
const clock = join(folder, 'clock')
const set = (ms: number) => writeFileSync(clock, String(ms))
set(0)
const rig = new URL('clock-process.js', import.meta.url).href
process.env['TIELINE_TEST_CLOCK'] = clock
process.env['NODE_OPTIONS'] = `--import=${rig}`

const home = await createHome(folder)
const { child: up } = await startUntil('Ctrl-C', 'up', '--home', home)
t.teardown(() => void up.kill('SIGKILL'))
const sql = readerOf(t, home)

const hourMs = 3_600_000
const jumps = [0, -hourMs, 24 * hourMs, 0, -hourMs]
let day = 0
for (const offset of jumps) {
  const hours = offset / hourMs
  t.test(`a file that arrives while the clock jumps to ${hours} hours is published`, async (t) => {
    day++
    const file = join(home, 'inbox', `DEMO_0${day + 1}082025_Electric.csv`)
    await usageFile(file, { ...oneDay, firstDay: `2025-07-0${day}` })
    writeFileSync(`${file}.done`, '')
    set(offset)
    let count = ''
    for (let look = 0; look < 180 && count !== String(day); look++) {
      await sleep(500)
      count = await sql("SELECT count() FROM file_load WHERE status = 'published'")
    }
    t.equal(count, String(day))
    t.equal(await sql('SELECT count() FROM usage'), String(day * 960))
  })
}

t.test('numbers and instants of publications only grow', async (t) => {
  const order = 'SELECT published_at FROM publication ORDER BY published_seq'
  const instants = (await sql(order)).split('\n')
  t.ok(instants.length >= jumps.length)
  t.same(instants, [...new Set(instants)].sort())
  t.equal(await interrupt(up), 0)
})
