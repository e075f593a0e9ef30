import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { momentsOf, someOf } from '../../rig/sample.js'
import type { Setting } from './convert.js'
import { createLoader } from './loading.js'
import { goldenFolder, samples } from './samples.js'

const loader = await createLoader(t)

interface Sample extends Setting {
  readonly text: string
  /** A text of its meters, which each variant replaces: no file repeats another's reads. */
  readonly meter: string
  readonly encoding?: BufferEncoding
}

const golden = (name: string, encoding: BufferEncoding = 'utf8') => ({
  ...(samples[name] as Setting),
  text: readFileSync(join(goldenFolder, name), encoding),
  encoding,
})

const plainText = readFileSync(join(goldenFolder, '../DEMO_05022026_Electric.csv'), 'utf8')
/** Few bad rows of many would quarantine every variant. */
const goodPeriods = [
  '100,NEM13,202604021000,A,B',
  ...['2026010', '2026020', '2026030'].flatMap((month, at) => [
    `250,NMI${at},11,1,11,11,M1,E,1,${month}1093055,A,,,2,20260401100333,A,,,10${at}.25,kWh,,,`,
    '550,N,,E,',
  ]),
  '900',
  '',
].join('\n')
const all: Readonly<Record<string, Sample>> = {
  'the plain layout': { format: { name: 'tieline' }, text: plainText, meter: '550000' },
  'a read in each row': { ...golden('csv-narrow.csv', 'latin1'), meter: 'DE001' },
  'a day in each row': { ...golden('csv-wide.csv'), meter: 'M' },
  'a numbered read in each row': { ...golden('csv-numbered.csv'), meter: 'ES0' },
  'green-button': { ...golden('green-button.xml'), meter: 'UsagePoint/' },
  nem12: { ...golden('nem12.csv'), meter: '410200' },
  nem13: { ...golden('nem13.csv'), text: goodPeriods, meter: 'NMI' },
  'green-button of months': { ...golden('green-button-months.xml'), meter: 'UsagePoint/' },
}

const linesOf = (text: string) => text.trimEnd().split('\n')
const withLines = (text: string, change: (lines: string[]) => readonly string[]) =>
  `${change(linesOf(text)).join('\n')}\n`
const lastField = /([,;])[^,;\n]*$/

/** What senders and transfers make of a file. */
const variants: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'its first half': (text) => text.slice(0, text.length / 2),
  'without its last line end': (text) => text.trimEnd(),
  'its last line cut': (text) => text.trimEnd().replace(lastField, ''),
  'its first two lines': (text) => withLines(text, (lines) => lines.slice(0, 2)),
  'without its first line': (text) => withLines(text, (lines) => lines.slice(1)),
  'a line that is shorter': (text) =>
    withLines(text, (lines) => lines.toSpliced(2, 1, (lines[2] ?? '').replace(lastField, ''))),
  'a line that is not a row': (text) =>
    withLines(text, (lines) => lines.toSpliced(3, 0, 'Total of the page: 17')),
  'a line twice': (text) => withLines(text, (lines) => lines.toSpliced(3, 0, lines[2] ?? '')),
  'a number that is text': (text) => text.replace(/([,;])\d*[.,]?\d+([,;][^,;\n]*)?\n/, '$1x1$2\n'),
  'carriage returns': (text) => text.replaceAll('\n', '\r\n'),
  'without the dates of another order': (text) =>
    withLines(text, (lines) => lines.filter((line) => !line.includes('13/01/2026'))),
  empty: () => '',
  'another encoding': (text) => `${text}\u0000`,
}

/** A good one and a bad one. */
const always = ['as it is', 'empty']

for (const [name, { text, meter, encoding = 'utf8', ...setting }] of someOf(
  Object.entries(all),
  4,
)) {
  t.test(`a check says what a load does: ${name}`, async (t) => {
    const statuses = new Set<string>()
    const isTried = momentsOf(7)
    for (const [index, [what, change]] of Object.entries(variants).entries()) {
      if (!isTried(index) && !always.includes(what)) continue
      const own = text.replaceAll(meter, `${meter}${index}`)
      const file = Buffer.from(change(own), encoding)
      const checked = await loader.check(file, setting)
      const { verdict, badRows } = await loader.load(file, setting)
      const { fileName: _, ...expected } = verdict
      const { fileName: __, ...found } = checked.verdict
      t.same(found, expected, `${what}: ${verdict.status} ${verdict.reason ?? ''}`)
      t.same(checked.badRows, badRows, `${what}: ${badRows.length} rejected rows`)
      statuses.add(verdict.status)
    }
    t.same(statuses, new Set(['published', 'quarantined']), 'good and bad ones are among them')
  })
}
