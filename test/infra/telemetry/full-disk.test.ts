import { readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createLog } from '../../../infra/telemetry/log.js'
import { createRequestLog } from '../../../infra/telemetry/request-log.js'
import { createSmallDisk } from '../../rig/small-disk.js'

t.test('a log survives a full disk, and says how many lines it lost', async (t) => {
  const disk = createSmallDisk(t, 4)
  const path = join(disk.path, 'tieline.log')
  const log = createLog(path, 'test')
  log.info('before')
  disk.fill()
  const lines = 20_000
  for (let at = 0; at < lines; at++) log.info({ at }, 'x'.repeat(100))
  disk.free()
  log.info({ at: lines }, 'longer than the room that is left'.repeat(30))
  log.info('last')
  const text = readFileSync(path, 'utf8')
  t.match(text, /"msg":"before"/)
  t.match(text, /"msg":"last"/)
  const reports = text.matchAll(/"lines":(\d+),"msg":"lines of this log were lost/g)
  const lost = [...reports].reduce((sum, [, count]) => sum + Number(count), 0)
  t.equal(text.split('"at":').length - 1 + lost, lines + 1, 'each line is stored or counted')
  t.ok(lost > 0)
})

t.test('a log above 100 MB is rotated at start, and the previous one is kept', async (t) => {
  const path = join(t.testdir({ 'worker.log': 'before\n' }), 'worker.log')
  truncateSync(path, 100 * 1024 * 1024 + 1)
  createLog(path, 'test').info('after')
  t.match(readFileSync(path, 'utf8'), /^\{.*"msg":"after"\}\n$/)
  t.equal(readFileSync(`${path}.1`).subarray(0, 7).toString(), 'before\n')
})

t.test('a request log survives a full disk, and says how many lines it lost', async (t) => {
  const disk = createSmallDisk(t, 4)
  const path = join(disk.path, 'requests.log')
  const log = createRequestLog(path, () => undefined)
  const request = { route: 'login', status: 200, ms: 1, requestId: 'x'.repeat(32) } as never
  const write = (count: number) => {
    for (let at = 0; at < count; at++) log.write(request)
  }
  write(2_000)
  await sleep(500)
  disk.fill()
  for (let round = 0; round < 3; round++) {
    write(2_000)
    await sleep(300)
  }
  disk.free()
  write(10)
  await sleep(300)
  write(10)
  await log.close()
  const text = readFileSync(path, 'latin1')
  const lost = [...text.matchAll(/"lostLines":(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0)
  const whole = text.split('\n').filter((line) => /^\{"time":\d+,"route".*\}$/.test(line)).length
  t.ok(lost > 0)
  t.ok(whole + lost >= 8_020, `${whole} and ${lost}: each line is stored or counted`)
  t.equal(
    whole,
    text.split('\n').filter((line) => line.includes('"route"') && line.endsWith('}')).length,
  )
})
