import { t } from 'tap'
import { demoCertificates } from '../../infra/demo/certificates.js'
import { createFolder } from '../folder.js'
import { callMutual, createRig, people } from './rig.js'

t.test(
  'with mutualTls all, everything asks for a certificate and nothing else listens',
  async (t) => {
    const rig = await createRig(t, { gateway: { mutualTls: 'all' } })
    t.equal(rig.url, rig.mutualUrl, 'one listener')
    const authorization = `Bearer ${await rig.token(people.active)}`
    const headers = { authorization }
    const login = await callMutual(rig, 'login', { headers })
    t.match(login, { status: 200, text: JSON.stringify({ clientId: people.active }) })
    t.match(await callMutual(rig, 'login', { headers }), { status: 200 }, 'a warm one')
    t.match(await callMutual(rig, 'login'), { status: 401, text: '{"errorCode":1}' }, 'no token')
    const customer = await callMutual(rig, 'customer', { headers })
    t.match(JSON.parse(customer.text), { clientId: people.active, customerSites: [{}] })
    const body = JSON.stringify({
      hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
      accountSlid: 'SLID-5113000000',
      macAddress: '00:11:22:AA:BB:CC',
      installCode: '83FED3407A939723A5C639B26916D505C3B5',
    })
    t.match(await callMutual(rig, 'bind', { body }), { status: 200, text: /"success"/ })
    const withToken = await callMutual(rig, 'bind', { body, headers })
    t.match(withToken, { status: 401 }, 'a token is no password')

    const theirs = demoCertificates(createFolder(t))
    const clients = {
      'no certificate': {},
      "another authority's": { cert: theirs.clientCertFile, key: theirs.clientKeyFile },
    }
    const before = rig.entries.length
    for (const [name, client] of Object.entries(clients)) {
      for (const path of ['login', 'customer', 'bind']) {
        await t.rejects(callMutual(rig, path, { body, headers, client }), `${name}, ${path}`)
      }
    }
    t.equal(rig.entries.length, before, 'no handler heard of them')
  },
)
