import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sampleCustomer } from '../../schemas/gateway/sample-customer.js'
import { header, openStory } from '../../story/rig/stack.js'
import { startTieline, tieline } from '../command-line.js'

const story = await openStory(t)
const customer = sampleCustomer()
const customerPath = join(story.desk, 'customer.json')
writeFileSync(customerPath, JSON.stringify(customer))

/** Quarter hours of January 2024: a feed of 500 KB, more than a pipe holds. */
const rows = Array.from({ length: 2_976 }, (_, at) => {
  const [day, hour, minute] = [1 + Math.floor(at / 96), Math.floor(at / 4) % 24, 15 * (at % 4)]
  const time = `1/${day}/2024 ${hour}:${String(minute).padStart(2, '0')}`
  return `910020000001,5113000001,55000001,${time},0.25`
})

t.test('a customer is registered, and a month of usage is loaded', async (t) => {
  t.match(await tieline('register', customerPath, '--home', story.home.path), { code: 0 })
  const text = [header, ...rows, ''].join('\n')
  const loaded = await story.loadBytes('DEMO_01022024_Electric.csv', text)
  t.match(loaded, { status: 'published', rows: { accepted: 2_976 } })
})

const january = [
  '--client',
  String(customer['clientId']),
  '--from',
  '2024-01-01',
  '--to',
  '2024-01-31',
]
const greenButton = (...options: readonly string[]) =>
  tieline('green-button', ...options, '--home', story.home.path)

/** All texts in a record of a customer that could be found again: names, numbers, addresses. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'string' && value.length > 5 ? [value] : []
  }
  return Object.values(value).flatMap(textsOf)
}

t.test('the feed goes to standard output, or into a file of its owner alone', async (t) => {
  const printed = await greenButton(...january)
  t.match(printed, { code: 0, stderr: '' })
  t.equal(printed.stdout.match(/<IntervalReading>/g)?.length, 2_976)
  t.ok(printed.stdout.endsWith('</feed>\n'))
  const out = join(story.desk, 'january.xml')
  t.match(await greenButton(...january, '--out', out), { code: 0, stdout: '', stderr: /wrote/ })
  const withoutTime = (text: string) => text.replace(/<updated>[^<]*/, '')
  t.equal(withoutTime(readFileSync(out, 'utf8')), withoutTime(printed.stdout))
  t.equal(statSync(out).mode & 0o777, 0o600)
  t.match(await greenButton(...january, '--out', out), { code: 0 }, 'a second time replaces it')
})

t.test('nothing of the record of the customer is in the feed', async (t) => {
  const { stdout } = await greenButton(...january)
  // The feed says Electricity, which names nobody.
  const texts = textsOf(customer).filter((text) => text !== 'Electric')
  t.ok(texts.length >= 8, texts.join())
  t.same(
    texts.filter((text) => stdout.includes(text)),
    [],
  )
})

t.test('bad options end with a reason and leave no file', async (t) => {
  const folder = join(story.desk, 'bad')
  mkdirSync(folder)
  const client = january.slice(0, 2)
  const out = ['--out', join(folder, 'out.xml')]
  const refuses = async (options: readonly string[], reason: RegExp) => {
    t.match(await greenButton(...options), { code: 1, stdout: '', stderr: reason })
  }
  await refuses(
    [...client, '--from', '2024-02-01', '--to', '2024-01-01', ...out],
    /--from 2024-02-01 is after --to 2024-01-01; exchange the two days/,
  )
  await refuses(['--client', '1', ...january.slice(2), ...out], /client 1 is not registered/)
  await refuses([...client, ...['--from', '1971-01-01', '--to', '1971-01-02'], ...out], /no reads/)
  await refuses(
    [...january, '--out', join(folder, 'none', 'out.xml')],
    /none\/out\.xml cannot be written: its folder does not exist; name a file in a writable/,
  )
  await refuses([...january, '--out', folder], /cannot be written: it is not a file/)
  t.same(readdirSync(folder), [])
  writeFileSync(join(folder, 'out.xml.part'), 'other')
  await refuses([...january, ...out], /out\.xml\.part exists; remove it/)
  t.equal(readFileSync(join(folder, 'out.xml.part'), 'utf8'), 'other', 'a run beside it goes on')
  t.notOk(existsSync(join(folder, 'out.xml')))
})

t.test('a century is written like a month', async (t) => {
  const { code, stdout } = await greenButton(
    ...january.slice(0, 2),
    ...['--from', '1971-01-01', '--to', '2070-12-31'],
  )
  t.equal(code, 0)
  t.equal(stdout.match(/<IntervalBlock /g)?.length, 31)
})

t.test('a reader that goes away ends the command without a word', async (t) => {
  const child = startTieline('green-button', ...january, '--home', story.home.path)
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const closed = once(child, 'close')
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  child.stdout?.destroy()
  t.equal((await closed)[0], 130)
  t.equal(said, '')
})
