import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { sampleFaults } from '../../../infra/demo/sample/bills.js'
import { sampleUsage } from '../../../infra/demo/sample/usage.js'
import { feedNames } from '../../../schemas/feed.js'
import { createFolder } from '../../rig/folder.js'
import { tieline } from '../command-line.js'

const folder = join(createFolder(t), 'sample')
const run = await tieline('sample', folder)
const names = readdirSync(folder)
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')

t.test('the sample has a file of every feed and 200 customers', async (t) => {
  t.match(run, {
    code: 0,
    stderr: '',
    stdout: /npx tieline explain --account \d+ --period 2026-09-/,
  })
  for (const feed of feedNames) {
    t.ok(
      names.some((name) => new RegExp(`_${feed}\\.csv$`).test(name)),
      feed,
    )
  }
  t.ok(names.includes('DEMO_21092025_Rates.done'), 'the rate files are one set')
  t.equal(textOf('customers.jsonl').trim().split('\n').length, 200)
  t.notOk(names.some((name) => name.endsWith('.part')))
})

t.test('its reads have 13 months with both clock changes', async (t) => {
  const [hourly] = sampleUsage().deliveries.map(({ meters }) => meters)
  const [first] = hourly ?? []
  const ofFirst = textOf('DEMO_01102026_Electric.csv')
    .split('\n')
    .filter((line) => line.includes(`,${first?.meterId},`))
  const on = (day: string) => ofFirst.filter((line) => line.includes(`,${day} `)).length
  t.same([on('10/1/2025'), on('11/2/2025'), on('3/8/2026'), on('9/30/2026')], [24, 25, 23, 24])
  t.match(textOf('DEMO_01112026_Electric.csv'), ',10/31/2026 23:00,')
})

t.test('some customers have moved in, and some share an account', async (t) => {
  const { customers, deliveries } = sampleUsage()
  const accounts = customers.map(({ customerSites: [site] }) => site?.meters[0]?.accountNumber)
  t.ok(new Set(accounts).size < accounts.length, 'an account with two clients')
  const accountsOf = (day: string) =>
    new Map(
      deliveries
        .filter(({ firstDay }) => firstDay === day)
        .flatMap(({ meters }) => meters.map((one) => [one.meterId, one.accountNumber] as const)),
    )
  const before = accountsOf('2025-10-01')
  const moved = [...accountsOf('2026-10-01')].filter(([id, account]) => before.get(id) !== account)
  t.ok(moved.length > 0, 'a meter with another account')
})

t.test('its wrong bills are named, and a folder with files is left alone', async (t) => {
  const bills = textOf('DEMO_21102026_Billing.csv')
  for (const { account, meter, period } of sampleFaults()) {
    t.match(bills, new RegExp(`^${account},\\d+,${meter},${period},`, 'm'))
    t.match(run.stdout, `account ${account}, ${period}`)
  }
  const again = await tieline('sample', folder)
  t.match(again, { code: 1, stderr: /sample is not empty; name a new folder/ })
})
