import { t } from 'tap'
import { demoCertificates } from '../../infra/demo/certificates.js'
import { createFolder } from '../rig/folder.js'
import { callMutual, createRig, people } from './rig.js'

t.test('with mutualTls all, nothing listens without asking for a certificate', async (t) => {
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
  t.match(withToken, { status: 401 }, 'a token is not a password')
  const get = { method: 'GET' }
  const outcome = await callMutual(rig, 'bind/00:11:22:AA:BB:CC', get)
  t.match(outcome, { status: 200, text: /"state":"success"/ })
  const openapi = await callMutual(rig, '../openapi.json', get)
  t.match(JSON.parse(openapi.text), { openapi: /^3\.1/ })
  t.match(await callMutual(rig, '../reference', get), { status: 200, text: /<title>/ })
  t.match(await callMutual(rig, 'logout'), { status: 404, text: '' })
  const wrongMethod = await callMutual(rig, 'login', get)
  t.match([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'POST'])

  const theirs = demoCertificates(createFolder(t))
  const clients = {
    'no certificate': {},
    "another authority's": { cert: theirs.clientCertFile, key: theirs.clientKeyFile },
  }
  const before = rig.entries.length
  for (const [name, client] of Object.entries(clients)) {
    for (const path of ['login', 'customer', 'bind', '../openapi.json']) {
      await t.rejects(callMutual(rig, path, { body, headers, client }), `${name}, ${path}`)
    }
  }
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' } as const
  await t.rejects(callMutual(rig, 'login', { headers, tls: old }), /alert|protocol/, 'TLS 1.1')
  t.equal(rig.entries.length, before, 'no handler heard of them')
})

t.test('login, customer and bind answer under one address', async (t) => {
  const rig = await createRig(t, { gateway: { listen: undefined } })
  t.equal(rig.url, rig.mutualUrl, 'one listener')
  const authorization = `Bearer ${await rig.token(people.active)}`
  const anybody = { client: {}, headers: { authorization } }
  for (const path of ['login', 'customer']) {
    const { status, text } = await callMutual(rig, path, anybody)
    t.match([status, JSON.parse(text)], [200, { clientId: people.active }], path)
  }
  const body = JSON.stringify({
    hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
    accountSlid: 'SLID-5113000000',
    macAddress: '00:11:22:AA:BB:CC',
    installCode: '83FED3407A939723A5C639B26916D505C3B5',
    later: 'a field of a later release',
  })
  t.match(await callMutual(rig, 'bind', { client: {}, body }), { status: 404, text: '' })
  const wrong = { authorization: 'Basic eDp5' }
  t.match(await callMutual(rig, 'bind', { body, headers: wrong }), { status: 401 })
  t.match(await callMutual(rig, 'bind', { body }), { status: 200, text: /"success"/ })
  const theirs = demoCertificates(createFolder(t))
  const stranger = { cert: theirs.clientCertFile, key: theirs.clientKeyFile }
  await t.rejects(callMutual(rig, 'login', { headers: { authorization }, client: stranger }))
})
