import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { t } from 'tap'
import { hashPassword } from '../../../api/access/password.js'
import { createDemoAmi } from '../../../infra/demo/back-office/ami.js'
import { basic, callMutual, createRig, passwordHash, people, post, type Rig } from '../rig.js'

const otherHash = await hashPassword('another password')

const wanted = {
  hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
  accountSlid: 'SLID-5113000000',
  macAddress: '00:11:22:aa:bb:cc',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
}
const bind = async (rig: Rig, more: object = {}) => {
  const answer = await callMutual(rig, 'bind', { body: JSON.stringify({ ...wanted, ...more }) })
  return { status: answer.status, body: answer.text === '' ? '' : JSON.parse(answer.text) }
}
const outcome = async (rig: Rig, mac = wanted.macAddress) => {
  const { status, text } = await callMutual(rig, `bind/${encodeURIComponent(mac)}`, {
    method: 'GET',
  })
  return { status, state: text === '' ? '' : JSON.parse(text).state }
}
const actionsOf = async (rig: Rig) => {
  const answer = await fetch(`${rig.ami.url}/actions`)
  return ((await answer.json()) as { actions: string[] }).actions
}

/** For the tests that need no profile of their own and leave no fault behind. */
const rig = await createRig(t)

t.test('a wrong body is answered with the field and what to do', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /the body is not JSON/],
    ['[]', /the body is not of type object/],
    ['{"a":', /the body is not JSON/],
    [JSON.stringify({ ...wanted, hemProfileId: undefined }), /hemProfileId is missing/],
    [JSON.stringify({ ...wanted, accountSlid: 7 }), /accountSlid is not of type string/],
    [JSON.stringify({ ...wanted, accountSlid: '' }), /accountSlid is empty/],
    [JSON.stringify({ ...wanted, accountSlid: 'SLID-0' }), /accountSlid is not known/],
    [JSON.stringify({ ...wanted, macAddress: '00-11-22-AA-BB-CC' }), /macAddress use six pairs/],
    [JSON.stringify({ ...wanted, macAddress: '00:11:22:33:44:55:66:77' }), /macAddress use six/],
    [JSON.stringify({ ...wanted, installCode: 'XYZ' }), /installCode use hexadecimal/],
    [JSON.stringify({ ...wanted, installCode: `${wanted.installCode}00` }), /installCode use/],
    [JSON.stringify({ ...wanted, actionCode: 2 }), /actionCode use 1 to bind or 0/],
    [JSON.stringify({ ...wanted, meterId: 'M-0' }), /meterId is not known/],
    [JSON.stringify({ ...wanted, meterId: 'G5000000' }), /not an AMI meter/],
  ]
  for (const [body, detail] of cases) {
    const answer = await callMutual(rig, 'bind', { body })
    t.equal(answer.status, 400, body)
    t.match(JSON.parse(answer.text), { detail })
  }
  const tooLong = await callMutual(rig, 'bind', { body: 'x'.repeat(20_000) })
  t.equal(tooLong.status, 413)
  t.same(await actionsOf(rig), [])
})

t.test('a hub is bound once for repeated requests, and unbound', async (t) => {
  t.same(await outcome(rig), { status: 404, state: '' })
  const twice = await Promise.all([bind(rig), bind(rig)])
  for (const answer of twice) t.match(answer, { status: 200, body: { status: 'success' } })
  t.match(await bind(rig), { status: 200, body: { status: 'success', message: /bound/ } })
  t.equal((await actionsOf(rig)).length, 1, 'the head-end was asked once')
  t.same(await outcome(rig), { status: 200, state: 'success' })
  t.match(await bind(rig, { macAddress: '00:11:22:AA:BB:DD' }), {
    status: 400,
    body: { detail: 'the meter is bound to another hub' },
  })
  t.match(await bind(rig, { actionCode: 0 }), { status: 200, body: { message: /unbound/ } })
  t.match(await bind(rig), { status: 200 }, 'bound again after it was unbound')
  t.equal((await actionsOf(rig)).length, 3)
  const acts = await rig.store.rows<object>({
    sql: 'SELECT who, via, act, detail FROM audit_log ORDER BY number',
  })
  const meter = { who: 'platform', via: 'gateway', act: 'bind' }
  t.match(acts, [
    { ...meter, detail: /^bind at meter/ },
    { ...meter, detail: /^unbind at meter/ },
    { ...meter, detail: /^bind at meter/ },
  ])
  t.equal(acts.length, 3, 'each action is written down once, with who began it')
  t.same(rig.failures, [])
  const wrongCheck = { ...wanted, installCode: '83FED3407A939723A5C639B26916D505B5C3' }
  const other = { macAddress: '00:11:22:AA:BB:EE', accountSlid: 'SLID-5113000001' }
  t.match(await bind(rig, { ...wrongCheck, ...other }), { status: 200 }, 'a wrong check passes')
  t.match(rig.failures.map(String), [/AMI_ANSWER: an install code has a wrong CRC/], 'noted')
})

t.test('the profile says who may bind, by which addresses and which install codes', async (t) => {
  const users = [
    { name: 'platform', passwordHash },
    { name: 'second', passwordHash: otherHash },
  ]
  const rules = { users, eui64: true, installCodeCrc: 'enforce' }
  const rig = await createRig(t, { profile: { bind: rules } })
  const eight = { macAddress: '00:11:22:aa:bb:cc:dd:ee' }
  t.match(await bind(rig, eight), { status: 200 })
  t.same(await outcome(rig, eight.macAddress), { status: 200, state: 'success' })
  const code = { installCode: '83FED3407A939723A5C639B26916D505B5C3' }
  const next = { macAddress: '00:11:22:aa:bb:01', accountSlid: 'SLID-5113000001' }
  t.match(await bind(rig, { ...next, ...code }), {
    status: 400,
    body: { detail: /installCode has a wrong check/ },
  })
  t.equal((await actionsOf(rig)).length, 1, 'the head-end has not heard of it')
  const as = async (name: string, password: string) => {
    const account = Buffer.from(`${name}:${password}`).toString('base64')
    const headers = { authorization: `Basic ${account}` }
    return (
      await callMutual(rig, 'bind', { body: JSON.stringify({ ...wanted, ...next }), headers })
    ).status
  }
  t.equal(await as('second', 'a password'), 401, "another's password")
  t.equal(await as('platform', 'another password'), 401)
  t.equal(await as('second', 'another password'), 200)
})

t.test('a slow, absent or refusing head-end differs, and nothing is sent twice', async (t) => {
  const rig = await createRig(t)
  await post(`${rig.ami.url}/faults`, { kind: 'late', ms: 3_000 })
  t.match(await bind(rig), { status: 503, body: '' }, 'the answer came too late')
  t.same(await outcome(rig), { status: 200, state: 'success' }, 'the meter shows it')
  t.match(await bind(rig), { status: 200, body: { status: 'success' } })
  t.equal((await actionsOf(rig)).length, 1)

  const other = { macAddress: '00:11:22:AA:BB:01', accountSlid: 'SLID-5113000001' }
  await post(`${rig.ami.url}/faults`, { kind: 'down' })
  t.match(await bind(rig, other), { status: 503, body: '' })
  await post(`${rig.ami.url}/faults`, { kind: 'refuse' })
  t.match(await bind(rig, other), { status: 400, body: { detail: /refused/ } })
  t.same(await outcome(rig, other.macAddress), { status: 200, state: 'failed' })
  await post(`${rig.ami.url}/faults`, { kind: 'missing' })
  t.match(await bind(rig, other), { status: 200, body: { status: 'pending' } })
  t.match(await bind(rig, other), { status: 200, body: { status: 'pending' } })
  t.same(await outcome(rig, other.macAddress), { status: 200, state: 'pending' })
  t.equal((await actionsOf(rig)).length, 3)
})

t.test('the log names the field where the answer may not', async (t) => {
  const rig = await createRig(t, { profile: { errorStyle: 'status' } })
  t.same(await bind(rig, { installCode: 'XYZ' }), { status: 400, body: '' })
  t.match(rig.entries.at(-1), { route: 'bind', status: 400, reason: /^installCode use/ })
  const unknown = { accountSlid: 'SLID-0' }
  t.same(await bind(rig, unknown), { status: 400, body: '' })
  t.match(rig.entries.at(-1), { reason: /^accountSlid is not known/ })
})

t.test('a head-end that answers twice is heard once', async (t) => {
  const ami = await createDemoAmi({ port: 0, ...people })
  const echo = await createTwice(ami.url)
  t.teardown(() => Promise.all([ami.close(), echo.close()]))
  const rig = await createRig(t, { profile: { ami: { kind: 'rest', url: echo.url } } })
  for (let at = 0; at < 4; at++) {
    const hub = { macAddress: `00:11:22:AA:BB:0${at}`, accountSlid: `SLID-511300000${at}` }
    t.match(await bind(rig, hub), { status: 200, body: { status: 'success' } })
    t.same(await outcome(rig, hub.macAddress), { status: 200, state: 'success' })
  }
  const { actions } = (await (await fetch(`${ami.url}/actions`)).json()) as { actions: string[] }
  t.equal(new Set(actions).size, 4)
  t.equal(actions.length, 4)
})

/** Passes each request on and sends each answer back twice, on a connection that stays open. */
async function createTwice(url: string) {
  const server = createServer((socket) => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', async (piece) => {
      text += piece
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (end < 0 || text.length < end + 4 + length) return
      const [method = '', path = ''] = text.split(' ')
      const body = text.slice(end + 4)
      text = ''
      const answer = await fetch(url + path, { method, ...(body && { body }) })
      const said = await answer.text()
      const head = `HTTP/1.1 ${answer.status} OK\r\nContent-Type: application/json\r\n`
      socket.write(`${head}Content-Length: ${said.length}\r\n\r\n${said}`.repeat(2))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

t.test('only the platform may bind: its certificate, its name and its password', async (t) => {
  const body = JSON.stringify(wanted)
  const bare = await callMutual(rig, 'bind', { body, client: {} })
  t.equal(bare.status, 404, 'without a client certificate bind is not found')
  const headers = [
    { authorization: '' },
    { authorization: 'Basic ' },
    { authorization: `Basic ${Buffer.from('platform:wrong').toString('base64')}` },
    { authorization: `Basic ${Buffer.from('other:a password').toString('base64')}` },
    { authorization: basic.replace('Basic', 'Bearer') },
  ]
  for (const wrong of headers) {
    const answer = await callMutual(rig, 'bind', { body, headers: wrong })
    t.match(answer, { status: 401, text: '{"errorCode":1}' }, wrong.authorization)
  }
  const plain = await fetch(`${rig.url}/v1/gateway/bind`, { method: 'POST', body })
  t.equal(plain.status, 404, 'the other listener does not know it')
  const login = await callMutual(rig, 'login')
  t.match(login, { status: 401 }, 'login is served with a certificate too')
})
