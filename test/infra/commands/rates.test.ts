import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { createFolder } from '../../rig/folder.js'
import { entry } from '../../schemas/rating/database/entries.js'
import { tieline } from '../command-line.js'

const folder = createFolder(t)
const out = join(folder, 'out')
let files = 0

/** Imports a text into the folder `out`, with more options. */
function importText(text: string, ...more: readonly string[]) {
  const path = join(folder, `${++files}.json`)
  writeFileSync(path, text)
  return importFile(path, ...more)
}

function importFile(path: string, ...more: readonly string[]) {
  const usual = ['--company', 'DEMO', '--date', '2026-02-05', '--out', out]
  return tieline('rates', 'import', path, ...usual, ...more)
}

t.test('an entry becomes complete files, and no file is written over', async (t) => {
  const text = JSON.stringify(entry({ fixedmonthlycharge: 10, name: 'Red \u001b[31m rate' }))
  const run = await importText(text, '--code', 'RES')
  t.match(run, { code: 0, stderr: '', stdout: /^RES\n {2}note: the database has no taxes/m })
  t.match(run.stdout, /lint: 0 errors, 0 warnings/)
  t.notMatch(run.stdout, '\u001b')
  const names = ['RateCodes', 'RateFixed', 'RateFlat'].map((feed) => `DEMO_05022026_${feed}.csv`)
  t.same(readdirSync(out).sort(), names)
  t.match(readFileSync(join(out, names[0] ?? ''), 'utf8'), /\nRES,Red \[31m rate,Flat,/)
  const again = await importText(text)
  t.match(again, { code: 1, stderr: /DEMO_05022026_RateCodes.csv exists; name another folder/ })
})

t.test('entries that rate files cannot price are left out, with the exit code 2', async (t) => {
  const odd = entry({ label: 'L2', energyratestructure: [[{ rate: 1, unit: 'therm' }]] })
  const into = join(folder, 'odd')
  const run = await importText(JSON.stringify([entry(), odd]), '--out', into, '--json')
  t.equal(run.code, 2)
  t.match(JSON.parse(run.stdout), {
    tariffs: [{ label: 'L1' }, { label: 'L2', refused: /the unknown unit "therm"/ }],
    files: [{ name: 'DEMO_05022026_RateCodes.csv', rows: 1 }, { rows: 1 }],
  })
  const none = await importText(JSON.stringify(odd), '--out', join(folder, 'none'))
  t.match(none, { code: 2, stdout: /not imported: energy: .*therm[\s\S]*no file was written/ })
  t.notOk(existsSync(join(folder, 'none', 'DEMO_05022026_RateCodes.csv')))
})

t.test('options and files that cannot be used are named with their remedy', async (t) => {
  const big = join(folder, 'big.json')
  writeFileSync(big, '')
  truncateSync(big, 100_000_000)
  const good = JSON.stringify(entry())
  const two = JSON.stringify([entry(), entry({ label: 'L2' })])
  const wrong: readonly [ReturnType<typeof importFile>, RegExp][] = [
    [importFile(big), /big.json has 100,000,000 bytes; at most 64,000,000 are read. Export the/],
    [importFile(folder), /is not a file; name one/],
    [importFile(join(folder, 'gone.json')), /SOURCE_UNREACHABLE: .*gone.json: ENOENT/],
    [importText('{"rate": NaN}'), /is not JSON(, at position 9)?. Name a file/],
    [importText(''), /is not JSON/],
    [importText(good, '--company', 'A B'), /--company A B is not a company code; use 1 to 32/],
    [importText(good, '--date', '2026-02-30'), /--date 2026-02-30 is not a day; write/],
    [importText(good, '--code', 'L9=X'), /--code names the label "L9"; the file has "L1"/],
    [importText(good, '--code', '=1'), /it cannot be a rate code \(FORMULA\)/],
    [importText(two, '--code', 'X'), /--code X does not name an entry; the file has 2 entries/],
    [importText(two, '--code', 'L2=L1'), /\[1\].label is "L1": \[0\].label has the same rate code/],
  ]
  for (const [run, message] of wrong) t.match(await run, { code: 1, stdout: '', stderr: message })
})

const tariffs = join(packageRoot(import.meta.url), '..', 'shared', 'data', 'foreign', 'tariffs')
const isThere = existsSync(tariffs)
t.comment(isThere ? 'with tariffs of utilities' : `without tariffs of utilities: no ${tariffs}`)

const published: readonly [string, object, readonly string[]][] = isThere
  ? [
      [
        'pge-bev-2-s',
        { RateCodes: 1, RateTou: 4, RateFixed: 1 },
        ['flatdemandstructure', 'demandreactivepowercharge'],
      ],
      [
        'smud-ci-tod3',
        { RateCodes: 1, RateTou: 25, RateFixed: 1 },
        ['flatdemandstructure', 'demandratestructure', 'dgrules'],
      ],
    ]
  : []

for (const [name, rows, missing] of published) {
  t.test(`${name} is imported, and what its bills lack is named`, async (t) => {
    const run = await importFile(join(tariffs, `${name}.json`), '--json', '--out', join(out, name))
    t.equal(run.code, 0)
    const { tariffs: found, files, lint } = JSON.parse(run.stdout)
    const counts = files.map((file: { name: string; rows: number }) => [
      file.name.slice('DEMO_05022026_'.length, -'.csv'.length),
      file.rows,
    ])
    t.same(Object.fromEntries(counts), rows)
    t.same(
      found[0].missing.map(({ field }: { field: string }) => field),
      missing,
    )
    t.same(lint, { errors: [], warnings: [] })
  })
}
