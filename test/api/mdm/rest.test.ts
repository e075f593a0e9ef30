import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { t } from 'tap'
import { createRestMdm } from '../../../api/mdm/rest.js'
import { backfillSettings } from '../../../schemas/gateway/history.js'

t.test('a history in another encoding is refused, as a file of it would be', async (t) => {
  const rows = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit\nÄ-1,S-1,M-1,1/1/2026,5\n'
  const server = createServer(({ url }, response) => {
    response.setHeader('Content-Type', 'text/csv')
    response.end(rows, url?.includes('M-latin') ? 'latin1' : 'utf8')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/history`
  const mdm = createRestMdm(backfillSettings.parse({ url }), () => '')
  t.teardown(async () => {
    await mdm.close()
    server.close()
  })
  const of = (meterId: string) => mdm.history({ meterId, from: '2026-01-01', to: '2026-01-31' })
  await t.rejects(of('M-latin'), { code: 'MDM_ANSWER', message: /is not UTF-8/ })
  t.match(await of('M-1'), { format: 'csv', text: rows })
})
