import { t } from 'tap'
import { toUsageText } from '../../../schemas/gateway/history.js'
import { parseProfile } from '../../../schemas/settings/profile.js'

const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'

t.test('an answer without rows is none', async (t) => {
  for (const text of ['', '\n', header, `${header}\r\n`, `\n${header}\n\n`]) {
    t.equal(toUsageText({ format: 'csv', text }), undefined, JSON.stringify(text))
  }
  t.equal(toUsageText({ format: 'ndjson', text: '\n\n' }), undefined)
})

t.test('CSV is passed on as it is, NDJSON field by field', async (t) => {
  const text = `${header}\r\nA,S,M,1/2/2026 0:00,1\r\n`
  t.equal(toUsageText({ format: 'csv', text }), text)
  const row = { ExternalSiteID: 'S "1", left', MeterID: 7, TimeStamp: '1/2/2026', TotalUnit: -0.25 }
  const whole = { AccountNumber: 'A', ...row, TotalUnit: '1.10', more: true }
  const lines = `${JSON.stringify(row)}\n\n${JSON.stringify(whole)}`
  const [, first, second] = toUsageText({ format: 'ndjson', text: lines })?.split('\n') ?? []
  t.equal(first, ',"S ""1"", left",7,1/2/2026,-0.25')
  t.equal(second, 'A,"S ""1"", left",7,1/2/2026,1.10')
})

t.test('a quality that a line of NDJSON states makes a column for all', async (t) => {
  const row = { ExternalSiteID: 'S', MeterID: 'M', TimeStamp: '1/2/2026', TotalUnit: 1 }
  const lines = [row, { ...row, Quality: 'estimated' }].map((one) => JSON.stringify(one))
  t.equal(
    toUsageText({ format: 'ndjson', text: lines.join('\n') }),
    `${header},Quality\n,S,M,1/2/2026,1,\n,S,M,1/2/2026,1,estimated\n`,
  )
  t.equal(
    toUsageText({ format: 'ndjson', text: JSON.stringify({ ...row, Quality: 'A,1' }) }),
    `${header},Quality\n,S,M,1/2/2026,1,"A,1"\n`,
    'another text is counted where the file is loaded, as that of a CSV answer is',
  )
})

t.test('an invalid line of NDJSON is named without its content', async (t) => {
  const good = '{"ExternalSiteID":"S","MeterID":"M","TimeStamp":"1/2/2026","TotalUnit":1}'
  const ask = (line: string) => () => toUsageText({ format: 'ndjson', text: `${good}\n${line}` })
  const code = 'MDM_ANSWER'
  t.throws(ask('canary'), { code, detail: "line 2 of the MDM's answer has no valid JSON" })
  t.throws(ask(good.replace('"M"', 'null')), { code, detail: /line 2 .* no valid MeterID/ })
  t.throws(ask(good.replace(':1}', ':true}')), { code, detail: /no valid TotalUnit/ })
})

t.test('backfill is named where it is asked for, and nowhere else', async (t) => {
  const parse = (more: object) => () =>
    parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit', ...more })
  t.throws(parse({ ingestion: 'backfill' }), {
    message: /backfill: missing: `ingestion: backfill` needs this section/,
  })
  const backfill = { url: 'https://mdm.example.com/usage' }
  t.throws(parse({ backfill }), { message: /ingestion: write backfill, or leave/ })
  t.match(parse({ ingestion: 'backfill', backfill })(), { backfill: { days: 400 } })
})
