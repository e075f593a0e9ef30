import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { goldenFolder } from '../../pipeline/formats/samples.js'
import { tieline } from '../command-line.js'

const rows = Array.from({ length: 96 }, (_, at) => {
  const time = `${String(Math.floor(at / 4)).padStart(2, '0')}:${String((at % 4) * 15).padStart(2, '0')}`
  return `M1;A1;13/01/2026;${time};0,25`
})
const file = ['Report for JANE ROE', 'Meter;Account;Date;Start;Usage kWh', ...rows, ''].join('\n')

const temporary = t.testdir()
process.env['TMPDIR'] = temporary
process.env['CLICKHOUSE_URL'] = 'http://127.0.0.1:1'
process.env['REDIS_URL'] = 'redis://127.0.0.1:1'

t.test('questions first, then a section that is judged by the samples', async (t) => {
  const folder = t.testdir({ 'export.csv.gz': gzipSync(file) })
  const path = join(folder, 'export.csv.gz')
  const asked = await tieline('propose', path)
  t.equal(asked.code, 2, asked.stderr)
  t.match(asked.stdout, /timeZone: "\?" # QUESTION/)
  t.match(asked.stdout, /clock: "\?"/)
  t.match(asked.stdout, /2 questions are open/)
  t.notMatch(asked.stdout, /JANE/, 'lines above the header are not shown: they may name a customer')
  const out = join(folder, 'section.yaml')
  const answers = ['--time-zone', 'America/Detroit', '--answer', 'clock=wall', '--out', out]
  const judged = await tieline('propose', path, ...answers)
  t.equal(judged.code, 0, judged.stderr + judged.stdout)
  t.match(judged.stdout, /No question is open/)
  t.match(judged.stdout, /export\.csv\.gz: 96 reads of 1 meters, sum 24, from 2026-01-13T05:00/)
  t.match(readFileSync(out, 'utf8'), /skipLines: 1 .*\n\s+header: true/)
  t.same(readdirSync(temporary), [], 'nothing is left behind')
  const again = await tieline('propose', path, ...answers)
  t.match([again.code, again.stderr], [1, /never overwritten/])
})

t.test(
  'columns that no setting reads are named, and a meter that counts as its account',
  async (t) => {
    const path = join(t.testdir({ 'export.csv': file.replace('Account', 'SP') }), 'export.csv')
    const options = ['--time-zone', 'America/Detroit', '--answer', 'clock=wall']
    const noted = await tieline('propose', path, ...options)
    t.match(noted.stdout, /columns that are not read: "SP"\n {2}account and meter are the same/)
    const mapped = await tieline('propose', path, ...options, '--answer', 'columns.account=SP')
    t.equal(mapped.code, 0, mapped.stderr)
    t.notMatch(mapped.stdout, /not read|are the same/)
  },
)

t.test('a profile gives its zone, and the section fits into it', async (t) => {
  const folder = t.testdir({ 'export.csv': file })
  const profile = join(folder, 'own.yaml')
  const source = join(folder, 'export.csv')
  const made = await tieline(
    'init',
    '--company',
    'ACME',
    '--time-zone',
    'America/Detroit',
    '--profile',
    profile,
  )
  t.ok(existsSync(profile), made.stderr)
  const options = ['--profile', profile, '--answer', 'clock=wall', '--json']
  const judged = await tieline('propose', source, ...options)
  t.equal(judged.code, 0, judged.stderr)
  const result = JSON.parse(judged.stdout)
  t.match(result.section, /timeZone: America\/Detroit # the profile/)
  t.match(result.checked[0].receipt, {
    fileName: 'export.csv',
    rows: { accepted: 96, rejected: 0 },
  })
})

const golden = (name: string) => readFileSync(join(goldenFolder, name), 'utf8')

t.test('billed periods are proposed as files of the feed Billing', async (t) => {
  const periods = golden('nem13.csv').split('\n').slice(0, 6)
  const folder = t.testdir({
    'nem13.csv': [...periods, '900', ''].join('\n'),
    'months.xml': golden('green-button-months.xml').replace('>86400<', '>2592000<'),
  })
  const nem13 = join(folder, 'nem13.csv')
  const asked = await tieline('propose', nem13, '--time-zone', 'Europe/Paris')
  t.match([asked.code, asked.stdout], [2, /offset: "\?" # QUESTION/])
  const judged = await tieline('propose', nem13, '--time-zone', 'Australia/Brisbane')
  t.equal(judged.code, 0, judged.stderr + judged.stdout)
  t.match(
    judged.stdout,
    /files:\n {2}format:\n {4}Billing:\n {6}name: nem13\n {6}offset: "?\+10:00/,
  )
  t.match(
    judged.stdout,
    /registers: 11, 41, 71 \(kWh, MWh\)\n.*direction I is loaded as generation/,
  )
  t.match(judged.stdout, /nem13\.csv: 3 billed periods, sum -9,?469\.5\n/)
  const months = await tieline(
    'propose',
    join(folder, 'months.xml'),
    '--time-zone',
    'America/Detroit',
  )
  t.match(months.stdout, /files:\n {2}format:\n {4}Billing:\n {6}name: green-button\n/)
  t.match(months.stdout, /months\.xml: \d+ billed periods, sum /, months.stderr)
})

t.test('bad samples and answers are refused with a remedy', async (t) => {
  const folder = t.testdir({
    'empty.csv': '',
    'text.csv': 'nothing here\nbut text\n',
    'one.csv': file,
    'other.csv': file.replace('Usage kWh', 'Energy kWh'),
    'page.xml': '<html><body>login</body></html>\n',
    'short.csv': 'Meter,Time,kWh\n',
  })
  const cases: readonly (readonly [args: readonly string[], reason: RegExp])[] = [
    [['empty.csv'], /EMPTY_FILE: .*empty\.csv has no bytes/],
    [['text.csv'], /no columns separated by/],
    [['one.csv', 'other.csv'], /one\.csv and other\.csv have other columns/],
    [['page.xml'], /not a Green Button feed/],
    [['short.csv'], /no row with a date and a number/],
    [['one.csv', '--answer', 'columns.acount=Account'], /it has [^/]*, columns\.site,/],
    [['one.csv', '--answer', 'stamp'], /write it as setting=value/],
    [['one.csv', '--time-zone', 'Detroit'], /unknown zone "Detroit"/],
    [['missing.csv'], /is not a file/],
  ]
  for (const [[name = '', ...more], reason] of cases) {
    const args = [name, ...more].map((one) => (/\.(csv|xml)$/.test(one) ? join(folder, one) : one))
    const refused = await tieline('propose', ...args)
    t.equal(refused.code, 1, args.join(' '))
    t.match(refused.stderr, reason)
  }
})
