import { t } from 'tap'
import { createRestAmi } from '../../../api/ami/rest.js'
import { createOfficeServer } from '../../../infra/demo/back-office/server.js'
import { amiSettings } from '../../../schemas/settings/gateway-bind.js'

t.test('an identifier asks for nothing else than its location or meter', async (t) => {
  const asked: string[] = []
  const server = await createOfficeServer(0, ({ path }) => {
    asked.push(path)
    return { status: 404, body: {} }
  })
  const ami = createRestAmi(amiSettings.parse({ kind: 'rest', url: server.url }), () => '')
  t.teardown(() => Promise.all([ami.close(), server.close()]))
  for (const id of ['.', '..', '../x']) {
    t.equal(await ami.locate(id), undefined, id)
    t.equal(await ami.meter(id), undefined, id)
  }
  t.same(asked, ['/locations/..%2Fx', '/meters/..%2Fx'])
})
