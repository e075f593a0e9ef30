import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { createRequestLog } from '../../../infra/telemetry/request-log.js'
import { createFolder } from '../../rig/folder.js'

const entry = {
  route: 'bind',
  status: 400,
  errorCode: undefined,
  ms: 1.25,
  requestId: 'r-1',
  pseudonym: undefined,
}

test('whatever a reason quotes, a line stays one line of JSON', async (t) => {
  const path = join(createFolder(t), 'requests.log')
  const log = createRequestLog(path, () => undefined)
  // The lower bytes of U+0122 and U+010A are a quote and a line end.
  const reasons = [
    'Unrecognized key: "\u0122,\u010a"',
    'a\nb\u0000',
    '\u{1f600}',
    'x'.repeat(5_000),
  ]
  for (const reason of reasons) log.write({ ...entry, reason, reasonDetail: undefined })
  for (const reasonDetail of reasons) log.write({ ...entry, reason: 'issuer', reasonDetail })
  await log.close()
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  const read = lines.map((line) => JSON.parse(line) as Record<string, string>)
  const shown = [...reasons.slice(0, 3), 'x'.repeat(1_000)]
  t.same(
    read.map((line) => line['reasonDetail'] ?? line['reason']),
    [...shown, ...shown],
  )
})
