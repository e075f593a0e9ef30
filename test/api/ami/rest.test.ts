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

t.test('a hub is the same however the head-end writes its address', async (t) => {
  let boundTo: unknown
  const server = await createOfficeServer(0, () => ({
    status: 200,
    body: { meterId: 'M-1', isAMI: true, boundTo, pendingFor: '' },
  }))
  const ami = createRestAmi(amiSettings.parse({ kind: 'rest', url: server.url }), () => '')
  t.teardown(() => Promise.all([ami.close(), server.close()]))
  const cases: readonly (readonly [unknown, string | undefined])[] = [
    ['00:11:22:aa:bb:cc', '00:11:22:AA:BB:CC'],
    ['00-11-22-AA-BB-CC', '00:11:22:AA:BB:CC'],
    [' 001122aabbcc ', '00:11:22:AA:BB:CC'],
    ['0011.22aa.bbcc', '00:11:22:AA:BB:CC'],
    ['001122FFFEAABBCC', '00:11:22:FF:FE:AA:BB:CC'],
    ['hub 7', 'HUB 7'],
    ['', undefined],
    [' ', undefined],
    [null, undefined],
  ]
  for (const [sent, read] of cases) {
    boundTo = sent
    const meter = { meterId: 'M-1', isAMI: true, boundTo: read, pendingFor: undefined }
    t.same(await ami.meter('M-1'), meter, JSON.stringify(sent))
  }
})
