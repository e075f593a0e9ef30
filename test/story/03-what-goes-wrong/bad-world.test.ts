/**
 * # 3.6 Processes that die
 *
 * What: The worker, Redis or ClickHouse is killed while a file loads, or the queues are emptied.
 * Why: No row may be lost or doubled, whatever dies. The ledger and the landed bytes are enough
 * to go on.
 * Try: Load a large file and run `kill -9` on the worker's process.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { askRedis } from '../../../infra/redis/ask.js'
import { openHome } from '../../../infra/stack/home.js'
import { startStack } from '../../../infra/stack/stack.js'
import { createLog } from '../../../infra/telemetry/log.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { follow, header, openStory, storyProfile, until } from '../rig/stack.js'

const story = await openStory(t)

const rowsCount = 40_000
/** A file of 40,000 rows and some 1.5 MB, of meters of its own. */
const textOf = (name: string) => {
  const rows = Array.from({ length: rowsCount }, (_, index) => {
    const [meter, hour] = [Math.trunc(index / 20), index % 20]
    return `77310055221,S-${meter},${name}-${meter},3/4/2024 ${hour}:00,0.25`
  })
  return `${header}\n${rows.join('\n')}\n`
}

let sent = 0
async function submission(prefix: string) {
  const name = `DEMO_05032024_Electric_${++sent}.csv`
  await writeFile(join(story.desk, name), textOf(prefix))
  return story.submission.submit(join(story.desk, name))
}

/** Every row of a file is there once. */
async function isWhole(prefix: string): Promise<boolean> {
  const [found] = await story.store.rows<{ rows: string; quantity: string }>({
    sql: `SELECT toString(count()) AS rows, toString(sum(quantity)) AS quantity FROM usage
      WHERE startsWith(meter_id, {prefix:String})`,
    parameters: { prefix: `${prefix}-` },
  })
  return found?.rows === String(rowsCount) && found.quantity === String(rowsCount / 4)
}

const published = { status: 'published', rows: { read: rowsCount, accepted: rowsCount } }

/** A moment in the middle of a file: it has been taken in, and has not ended. */
async function inTheMiddle(arrival: number): Promise<void> {
  for await (const { status } of story.submission.follow(arrival)) if (status !== 'arrived') return
}

for (const [part, kill] of [
  ['ClickHouse', () => story.stack.clickhouse?.kill()],
  ['Redis', () => story.stack.redis?.kill()],
] as const) {
  t.test(`a file ends well although ${part} dies in the middle`, async (t) => {
    const prefix = part
    const { arrival } = await submission(prefix)
    await inTheMiddle(arrival)
    kill()
    t.match(await follow(story.submission, arrival), published)
    t.ok(await isWhole(prefix), 'every row is there once')
  })
}

t.test(
  'a worker that is asked to end completes its steps, and the next one the file',
  async (t) => {
    const { arrival } = await submission('ASKED')
    await inTheMiddle(arrival)
    process.kill(story.stack.worker.pid() ?? 0, 'SIGTERM')
    t.match(await follow(story.submission, arrival), published)
    t.ok(await isWhole('ASKED'), 'every row is there once')
    await until(() => /the worker ended/.test(story.logs()))
    t.match(story.logs(), /the worker ended \(exit code 0\); restarting it/)
  },
)

t.test('a file in the inbox ends well although all die at once', async (t) => {
  const name = 'DEMO_06032024_Electric.csv'
  await story.send(name, textOf('ALL'))
  await until(() => existsSync(join(story.home.landing, String(sent + 1))))
  story.stack.worker.kill()
  story.stack.redis?.kill()
  story.stack.clickhouse?.kill()
  t.match(await story.receiptOf(name), published)
  await until(() => isWhole('ALL').catch(() => false))
  await until(() => !existsSync(join(story.home.inbox, name)))
  sent++
})

t.test('a file ends well although the queues are emptied', async (t) => {
  const { arrival } = await submission('FLUSH')
  await askRedis(story.stack.redisUrl, 'FLUSHALL')
  t.match(await follow(story.submission, arrival), published)
  t.ok(await isWhole('FLUSH'))
  await story.send('DEMO_07032024_Electric.csv', textOf('AFTER'))
  sent++
  t.match(await story.receiptOf('DEMO_07032024_Electric.csv'), published, 'the inbox is looked at')
})

t.test('a file ends well although the landing is removed and the worker dies', async (t) => {
  const name = 'DEMO_08032024_Electric.csv'
  rmSync(story.home.landing, { recursive: true })
  story.stack.worker.kill()
  await story.send(name, textOf('LANDING'))
  t.match(await story.receiptOf(name), published)
  t.ok(await isWhole('LANDING'), 'every row is there once')
})

t.test('a step waits for a statement that its predecessor left in the server', async (t) => {
  const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
  t.teardown(queues.close)
  const { arrival } = await submission('LEFT')
  const sql = `INSERT INTO FUNCTION null('slept UInt8') SELECT sleepEachRow(1) FROM numbers(900)
    SETTINGS max_block_size = 1`
  const left = story.store.runTask(`settle-${arrival}`, () => story.store.command({ sql }))
  const id = `story:settle-${arrival}:`
  await until(async () =>
    (await queues.waits()).some((wait) => wait.detail.startsWith(`statement ${id}`)),
  )
  await story.store.command({ sql: `KILL QUERY WHERE startsWith(query_id, '${id}')` })
  await t.rejects(left, { message: /QUERY_WAS_CANCELLED/ })
  t.match(await follow(story.submission, arrival), published)
})

t.test('a server that is not there at the start is named in one line', async (t) => {
  const free = createServer().listen(0, '127.0.0.1')
  await new Promise((listening) => free.once('listening', listening))
  const { port } = free.address() as { port: number }
  await new Promise((closed) => free.close(closed))
  const path = mkdtempSync(join(tmpdir(), 'tieline-away-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  const home = openHome(path)
  const start = (external: { clickhouseUrl?: string; redisUrl?: string }) =>
    startStack({
      home,
      profile: storyProfile(),
      log: createLog(join(home.logs, 'tieline.log'), 'story'),
      ports: { clickhouse: 41_000, redis: 42_000 },
      external,
    })
  await t.rejects(start({ clickhouseUrl: `http://u:hush@127.0.0.1:${port}` }), {
    code: 'STORE_UNREACHABLE',
    message: new RegExp(`^(?!.*hush).*CLICKHOUSE_URL http://127\\.0\\.0\\.1:${port}`),
  })
  await t.rejects(start({ redisUrl: `redis://:hush@127.0.0.1:${port}` }), {
    code: 'QUEUE_UNREACHABLE',
    message: new RegExp(`^(?!.*hush)[^\n]*127\\.0\\.0\\.1:${port}`),
  })
})

t.test('the logs show what happened and no row', async (t) => {
  t.match(story.logs(), /Redis ended \(SIGKILL\); restarting it/)
  t.match(story.logs(), /the worker ended \(SIGKILL\); restarting it/)
  t.notMatch(story.logs(), /77310055221|S-\d+,/)
})
