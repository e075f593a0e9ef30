import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { convertedFormats } from '../../../pipeline/formats/formats.js'
import { convert } from './convert.js'
import { goldenFolder, samples } from './samples.js'

t.test('each format has a sample, whose plain rows and notes are known', async (t) => {
  const sampled = Object.values(samples).map(({ format, feed }) => {
    const { name } = format as { name: string }
    return `${feed === 'Billing' ? feed : 'usage'} ${name}`
  })
  t.same(new Set(sampled), new Set(convertedFormats))
  for (const [file, setting] of Object.entries(samples)) {
    const bytes = readFileSync(join(goldenFolder, file))
    const { plain, records, ending } = await convert(bytes, setting)
    const lines = records.map(({ line, refused }) => refused && `${line}: ${refused.detail}`)
    const shown = [...ending.warnings, ...lines.filter((text) => text !== undefined)]
    const found = `${plain}${shown.map((text) => `# ${text}\n`).join('')}`
    const path = join(goldenFolder, `${file}.plain`)
    if (process.env['TIELINE_WRITE_GOLDEN'] === '1') writeFileSync(path, found)
    t.equal(found, readFileSync(path, 'utf8'), file)
    for (const size of [1, 7, 1_000]) {
      t.equal((await convert(bytes, setting, size)).plain, plain, `${file} in pieces of ${size}`)
    }
  }
})
