import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { peakMb } from '../../../benchmarks/memory.js'
import { numberedMeters } from '../../../infra/demo/customers.js'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { claimFolder } from '../../../infra/stack/claim.js'
import type { Checked } from '../../../pipeline/check.js'
import { receiptSchema } from '../../../schemas/receipt.js'
import { sample } from '../../rig/sample.js'
import { header, readIfThere, until } from '../../story/rig/stack.js'
import { startTieline, tieline } from '../command-line.js'

const rows = Array.from({ length: 96 }, (_, at) => {
  const time = `${Math.floor(at / 4)}:${String((at % 4) * 15).padStart(2, '0')}`
  return `A1,S1,M1,7/1/2025 ${time},0.5`
})
const good = [header, ...rows, ''].join('\n')
const bad = [header, ...rows, ...Array.from({ length: 25 }, () => 'A1,S1,M1,soon,1')].join('\n')

/** Temporary folders of commands are in a folder of their own; a server that is not there is never asked. */
const temporary = t.testdir()
process.env['TMPDIR'] = temporary
process.env['CLICKHOUSE_URL'] = 'http://127.0.0.1:1'
process.env['REDIS_URL'] = 'redis://127.0.0.1:1'
const left = () => readdirSync(temporary)

t.test('a folder of good files passes, and leaves nothing behind', async (t) => {
  const codes = 'RateCode,Description,RateType\nRES,Residential,TOU\n'
  const tou =
    'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate\nRES,Peak,0.2,14,19,--01-01,--12-31\nRES,Off-Peak,0.1,19,14,--01-01,--12-31\n'
  const cycles =
    'BillingCycleID,StartDate,EndDate\n7,2026-01-05,2026-02-03\n7,2026-02-04,2026-03-05\n'
  const folder = t.testdir({
    'DEMO_02072025_RateCodes.csv': codes,
    'DEMO_02072025_RateTou.csv': tou,
    'DEMO_02072025_BillingCycles.csv': cycles,
    'DEMO_02072025_Electric.csv': good,
    'DEMO_02072025_Rates.done': '',
    'DEMO_01072025_Electric.csv.receipt.json': '{}',
  })
  const home = join(t.testdirName, 'data')
  const abandoned = join(temporary, 'tieline-check-abandoned')
  const inUse = join(temporary, 'tieline-check-in-use')
  for (const path of [abandoned, inUse]) mkdirSync(join(path, 'clickhouse'), { recursive: true })
  const claim = await claimFolder(inUse)
  const all = await tieline('check', folder, '--json', '--home', home)
  t.equal(all.code, 0, all.stderr + all.stdout)
  const checked = JSON.parse(all.stdout) as readonly Checked[]
  t.equal(checked.length, 4)
  const usage = checked.find(({ receipt }) => receipt.feed === 'Electric')
  t.match(receiptSchema.parse(usage?.receipt), {
    status: 'published',
    rows: { read: 96, accepted: 96 },
    quantity: { accepted: '48' },
    firstIntervalStart: '2025-07-01T04:00:00.000Z',
    lastIntervalEnd: '2025-07-02T04:00:00.000Z',
    notes: [],
    publishedAt: null,
  })
  t.same(usage?.badRows, [])
  t.notOk(existsSync(home), 'no data folder is made')
  t.same(left(), ['tieline-check-in-use'], 'only the folder of a check that runs is left')
  await claim.release()
  rmSync(inUse, { recursive: true })
})

t.test('bad files are reported with their reason and first rows', async (t) => {
  const folder = t.testdir({
    'DEMO_02072025_Electric.csv': good,
    'DEMO_02072025_Electric_2.csv': bad,
    'DEMO_02072025_Electric_3.csv.gz': gzipSync(`${good}\nA1,S1,M1,7/2/2`),
    'OTHER_02072025_Electric.csv': good,
    'usage.csv': good,
  })
  const files = readdirSync(folder).map((name) => join(folder, name))
  const { code, stdout } = await tieline('check', ...files)
  t.equal(code, 2, 'some would be quarantined')
  const line = (name: string) => stdout.split('\n').filter((one) => one.startsWith(name))
  t.match(line('DEMO_02072025_Electric.csv'), [/ published .* 96 /])
  t.match(line('DEMO_02072025_Electric_2.csv: TOO_MANY'), [/TOO_MANY_REJECTED: 25 of 121 rows/])
  t.match(stdout, /20 of 25 rejected rows/)
  t.match(stdout, / 98 {2}TimeStamp {2}NOT_A_TIME/)
  t.notMatch(stdout, /\n +118 /, 'the first 20 only')
  t.match(line('DEMO_02072025_Electric_3.csv.gz'), [/ quarantined /, /TRUNCATED/])
  const foreign = /COMPANY_CODE: OTHER is not in companyCodes/
  t.match(line('OTHER_02072025_Electric.csv'), [/ quarantined /, foreign])
  t.match(line('usage.csv'), [/ quarantined /, /FILE_NAME/])
  t.same(left(), [])
})

t.test('what cannot be read is a fault', async (t) => {
  const gone = await tieline('check', join(t.testdir(), 'DEMO_02072025_Electric.csv'))
  t.match(gone, { code: 1, stderr: /SOURCE_UNREACHABLE/ })
  const folder = t.testdir({ 'DEMO_02072025_Electric.csv': {} })
  const none = await tieline('check', join(folder, 'DEMO_02072025_Electric.csv'))
  t.match(none, { code: 1, stderr: /has no file to check/ })
})

t.test('a large file takes bounded memory, and an end at any moment leaves nothing', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'DEMO_05032026_Electric.csv')
  const { rows } = await usageFile(path, {
    meters: numberedMeters(sample({ short: 10_000, long: 100_000 })),
    seed: 7,
    firstDay: '2026-03-04',
    days: 1,
    intervalSeconds: 900,
    zone: 'America/Detroit',
  })
  const { code, stdout, peaks } = await watched(path)
  t.equal(code, 0)
  t.match(stdout.replaceAll(',', ''), new RegExp(`published +${rows} +${rows} `), 'every row')
  t.ok(peaks.command < 350, `the command took ${peaks.command} MB`)
  t.ok(peaks.engine > 100 && peaks.engine < 1_200, `the engine took ${peaks.engine} MB`)
  t.same(left(), [])
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const child = startTieline('check', path)
    const ended = once(child, 'close')
    await until(isLoading)
    child.kill(signal)
    const [code] = await ended
    t.equal(code, signal === 'SIGKILL' ? null : 130, signal)
    if (signal !== 'SIGKILL') t.same(left(), [], `${signal} leaves nothing`)
    else await until(() => left().length === 0)
  }
})

/** Whether a chunk is in the landing of a command. */
function isLoading(): boolean {
  return left().some((name) => {
    const landing = join(temporary, name, 'landing')
    return existsSync(landing) && readdirSync(landing).length > 0
  })
}

/** Checks a file, and the peaks of the command and of its engine in MB. */
async function watched(path: string) {
  const child = startTieline('check', path)
  const peaks = { command: 0, engine: 0 }
  const look = (name: keyof typeof peaks, pid: number | undefined) => {
    peaks[name] = Math.max(peaks[name], Math.round(peakMb(pid) ?? 0))
  }
  const { pid } = child
  const every = setInterval(() => {
    look('command', pid)
    const children = readIfThere(`/proc/${pid}/task/${pid}/children`) ?? ''
    for (const one of children.split(' ').filter(Boolean)) look('engine', Number(one))
  }, 20)
  const [stdout, [code]] = await Promise.all([text(child.stdout as Readable), once(child, 'close')])
  clearInterval(every)
  return { code, stdout, peaks }
}

t.test('a machine that cannot run the engine is refused with the remedy', async (t) => {
  const file = join(t.testdir({ 'DEMO_02072025_Electric.csv': good }), 'DEMO_02072025_Electric.csv')
  const cases = [
    ['TMPDIR', '/nonexistent', /CONFIG: .* \/nonexistent .*\(ENOENT\); set TMPDIR to a folder/],
    ['TMPDIR', file, /CONFIG: .*\(ENOTDIR\); set TMPDIR to a folder/],
    ['TZ', 'Mars/Base', /CONFIG: .*Cannot load time zone Mars\/Base.* Set TZ to/],
  ] as const
  for (const [name, value, stderr] of cases) {
    const before = process.env[name]
    process.env[name] = value
    const proposed = await tieline('propose', file)
    if (name === 'TMPDIR') t.match(proposed, { code: 1, stderr })
    const run = await tieline('check', file).finally(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
    t.match(run, { code: 1, stderr }, `${name}=${value}`)
  }
})
