import { once } from 'node:events'
import { request as ask, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { hashPassword } from '../../../api/access/password.js'
import { createAdmit, createPeople } from '../../../infra/operations/access.js'
import { policy } from '../../../infra/operations/page.js'
import { createSignIn } from '../../../infra/operations/sign-in.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createBrowser } from '../../rig/chromium.js'
import { until } from '../../story/rig/stack.js'
import { createProxy, createStand } from './stand.js'

const password = 'a long password & more'
const users = [{ name: 'ann', passwordHash: await hashPassword(password) }]
const { operations } = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  worker: { operations: { users } },
}).worker

/** The page of a profile with users, and the faults that were logged. */
async function createDoor(t: Test, isTls = false) {
  const faults: string[] = []
  const people = createPeople(operations, ({ detail }) => void faults.push(detail))
  if (people === undefined) throw new Error('the profile has users')
  const signIn = createSignIn(people, { policy, isTls })
  const stand = await createStand(t, {
    admit: createAdmit(operations, () => undefined, people),
    signIn,
  })
  return { ...stand, faults, people }
}

type Headers = Readonly<Record<string, string>>

interface Sent {
  readonly method?: string
  readonly headers?: Headers
  readonly body?: string
}

/** A plain request, with the origin of the page unless another is named. */
async function send(address: string, path: string, { method = 'GET', headers, body }: Sent = {}) {
  const origin = method === 'GET' ? {} : { origin: address }
  const request = ask(`${address}${path}`, {
    method,
    agent: false,
    headers: { ...origin, ...headers },
  })
  request.on('error', () => undefined)
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const content = await text(response).catch(() => '')
  return { status: response.statusCode, headers: response.headers, content }
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const browser = { 'user-agent': 'Mozilla/5.0 (X11)', accept: 'text/html,*/*' }
const filled = (more: Headers = {}) =>
  new URLSearchParams({ name: 'ann', password, ...more }).toString()
const login = (address: string, more?: Headers, headers?: Headers) =>
  send(address, '/login', { method: 'POST', headers: { ...form, ...headers }, body: filled(more) })

/** The cookie that a response sets, as a browser sends it back. */
const cookieOf = ({ headers }: { readonly headers: IncomingMessage['headers'] }) =>
  headers['set-cookie']?.[0]?.split(';')[0] ?? ''

t.test('a wrong password leaves the user name in the form, whatever it is', async (t) => {
  const { address } = await createDoor(t)
  const { content } = await login(address, { password: 'another one' })
  t.match(content, /name="name" value="ann" autocomplete/)
  t.match(content, /wrong/)
  const name = `"><script>alert('&amp;{to}')</script>`
  const hostile = await login(address, { name })
  t.match(
    hostile.content,
    `value="&quot;&gt;&lt;script&gt;alert(&#39;&amp;amp;{to}&#39;)&lt;/script&gt;" autocomplete`,
  )
  t.match((await send(address, '/login', { headers: browser })).content, /name="name" value=""/)
})

t.test('a browser gets the form, a script the challenge', async (t) => {
  const { address } = await createDoor(t)
  const page = await send(address, '/file?arrival=3', { headers: browser })
  t.equal(page.status, 401)
  t.equal(page.headers['www-authenticate'], undefined, 'a browser shows no box of its own')
  t.match(page.content, /action="login".*name="to" value="file\?arrival=3"/s)
  t.match(page.headers['content-security-policy'], /form-action 'self'/)
  const board = await send(address, '/queues/queue/load?a=1&b=2', { headers: browser })
  t.match(board.content, /action="..\/..\/login".*value="queues\/queue\/load\?a=1&amp;b=2"/s)
  const fetched = await send(address, '/files/1', {
    headers: { 'user-agent': browser['user-agent'], accept: '*/*' },
  })
  t.match([fetched.status, fetched.headers['www-authenticate']], [401, undefined])
  for (const agent of ['curl/8.14.1', 'Mozilla/5.0 (Windows NT 10.0) PowerShell/7.4']) {
    const script = await send(address, '/', { headers: { 'user-agent': agent, accept: '*/*' } })
    t.match(script, { status: 401, headers: { 'www-authenticate': /^Basic/ } })
    t.match(script.content, /^user name and password required/)
  }
  for (const path of ['/page.css', '/icon.svg', '/login']) {
    t.equal((await send(address, path, { headers: browser })).status, 200, path)
  }
  t.equal((await send(address, '/overview.js', { headers: browser })).status, 401)
})

t.test('a session gives access until it is ended', async (t) => {
  const { address } = await createDoor(t)
  const answer = await login(address, { to: 'file?arrival=3' })
  t.match([answer.status, answer.headers.location], [303, './file?arrival=3'])
  const [set = ''] = answer.headers['set-cookie'] ?? []
  t.match(set, /^tieline_\d+=[\w-]{43}; HttpOnly; SameSite=Strict$/)
  const cookie = cookieOf(answer)
  const session = () => send(address, '/session', { headers: { cookie } })
  t.same(JSON.parse((await session()).content), { who: 'ann', signedIn: true })
  const again = await login(address, {}, { cookie })
  t.not(cookieOf(again), cookie)
  t.equal((await session()).status, 401, 'to sign in again ends the session before')
  const other = { cookie: `a=b; ${cookieOf(again)}; c=d` }
  t.equal((await send(address, '/session', { headers: other })).status, 200)
  const out = await send(address, '/logout', { method: 'POST', headers: other })
  t.match([out.status, out.headers['set-cookie']?.[0]], [204, /=; HttpOnly.*Max-Age=0/])
  t.equal((await send(address, '/session', { headers: other })).status, 401)
})

t.test('the cookie is for HTTPS only where the browser uses it', async (t) => {
  const isSecure = async (isTls: boolean, scheme: string) => {
    const { address } = await createDoor(t, isTls)
    const origin = address.replace('http', scheme)
    const { headers } = await login(address, {}, { origin })
    return /; Secure/.test(headers['set-cookie']?.[0] ?? '')
  }
  t.equal(await isSecure(false, 'http'), false)
  t.equal(await isSecure(true, 'https'), true)
  t.equal(await isSecure(false, 'https'), true, 'a proxy in front speaks TLS')
})

t.test('scripts use name and password as before', async (t) => {
  const { address, faults } = await createDoor(t)
  const basic = (word: string) => ({
    authorization: `Basic ${Buffer.from(`ann:${word}`).toString('base64')}`,
  })
  const good = await send(address, '/session', { headers: basic(password) })
  t.same(JSON.parse(good.content), { who: 'ann', signedIn: false })
  t.equal(good.headers['set-cookie'], undefined)
  const cookie = cookieOf(await login(address))
  const wrong = await send(address, '/', { headers: { cookie, ...basic('guess') } })
  t.equal(wrong.status, 401, 'a wrong password is refused beside a session')
  t.same(faults, ['wrong logins to the operations page: ann 1'])
})

t.test('a wrong password is logged without it, and too many at once are put off', async (t) => {
  const { address, faults } = await createDoor(t)
  const wrong = await login(address, { password: 'hunter2', to: 'file?arrival=3' })
  t.equal(wrong.status, 401)
  t.equal(wrong.headers['set-cookie'], undefined)
  t.match(wrong.content, /User name or password is wrong\..*value="file\?arrival=3"/s)
  t.same(faults, ['wrong logins to the operations page: ann 1'])
  const guesses = Array.from({ length: 6 }, (_, at) => login(address, { password: `guess ${at}` }))
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  t.ok(statuses.includes(503) && statuses.includes(401), statuses.join())
  t.notMatch(faults.join(), /hunter2|guess/)
})

t.test('nothing but a form of the page signs in or out', async (t) => {
  const { address, people, failures } = await createDoor(t)
  const post = (path: string, headers: Headers, body = filled()) =>
    send(address, path, { method: 'POST', headers, body })
  for (const path of ['/login', '/logout']) {
    for (const origin of ['https://elsewhere.example.com', 'null', 'nonsense']) {
      t.equal((await post(path, { ...form, origin })).status, 403, `${path} of ${origin}`)
    }
    t.equal((await post(path, { ...form, 'sec-fetch-site': 'cross-site' })).status, 403)
  }
  const json = { 'content-type': 'application/json' }
  t.equal((await post('/login', json, JSON.stringify({ name: 'ann', password }))).status, 415)
  t.equal((await post('/login', {})).status, 415)
  t.equal((await post('/login', form, `${filled()}&x=${'y'.repeat(5_000)}`)).status, 413)
  const hostile = [
    '',
    '&&&',
    '%',
    '%00=%ff',
    'name=ann',
    'name=ann&name=bob',
    `name=${'%F0'.repeat(900)}`,
  ]
  for (const body of [...hostile, '__proto__=1&password=', filled({ name: 'ann:' })]) {
    t.equal((await post('/login', form, body)).status, 401, body.slice(0, 30))
  }
  const targets = ['//e.com', 'https://e.com', '../x', 'a/../../b', '\\e.com', 'login', 'a\r\nb: c']
  for (const to of targets) t.equal((await login(address, { to })).headers.location, './', to)
  const cookie = `tieline_${new URL(address).port}=`
  for (const value of ['', 'x', people.sessions.begin('ann').slice(1), '"; a=b', '__proto__']) {
    const { status } = await send(address, '/session', { headers: { cookie: cookie + value } })
    t.equal(status, 401, value)
  }
  t.same(failures, [])
})

t.test('a form without an end is cut, and a chunked one that is too long', async (t) => {
  const { port, address, failures } = await createDoor(t)
  const head = `POST /login HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: ${address}\r\nContent-Type: ${form['content-type']}\r\n`
  const chunk = 'a'.repeat(4_096)
  const socket = connect(port, '127.0.0.1')
  const chunks = `1000\r\n${chunk}\r\n1000\r\n${chunk}\r\n`
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`)
  t.match(await text(socket), /^HTTP\/1.1 413 .*Connection: close/s)
  const leaver = connect(port, '127.0.0.1')
  leaver.write(`${head}Content-Length: 100\r\n\r\nname=`)
  await once(leaver, 'connect')
  leaver.destroy()
  t.equal((await login(address)).status, 303, 'others sign in')
  t.same(failures, [])
})

t.test('a button needs the session and the page', async (t) => {
  const { address } = await createDoor(t)
  const cookie = cookieOf(await login(address))
  const act = (headers: Headers) => send(address, '/files/1/retry', { method: 'POST', headers })
  t.equal((await act({})).status, 401)
  const foreign = { cookie, origin: 'https://elsewhere.example.com' }
  const refused = await act(foreign)
  t.match(refused, { status: 403, content: /only the operations page.*; open the page/ })
  t.notMatch(refused.content, /file or folder/, 'nothing is wrong with a file')
  t.equal((await act({ cookie, origin: 'null' })).status, 403)
  t.equal(
    (await act({ cookie })).status,
    500,
    'the page itself gets to the file, which is not here',
  )
})

t.test('a person signs in and out behind a proxy with a prefix', async (t) => {
  const { port, faults, people, server } = await createDoor(t)
  const address = await createProxy(t, port, '/ops/east')
  const tab = await (await createBrowser(t)).newPage()
  const violations: string[] = []
  tab.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) violations.push(message.text())
  })
  const enter = async (word: string) => {
    await tab.getByLabel('User name').fill('ann')
    await tab.getByLabel('Password').fill(word)
    await tab.getByRole('button', { name: 'sign in' }).click()
  }
  await tab.goto(`${address}/file?arrival=3`)
  await enter('another password')
  await tab.getByRole('alert').waitFor()
  t.equal(await tab.getByRole('alert').textContent(), 'User name or password is wrong.')
  t.same(faults, ['wrong logins to the operations page: ann 1'])
  await enter(password)
  await tab.waitForURL(`${address}/file?arrival=3`)
  await tab.goto(`${address}/`)
  await until(async () => (await tab.locator('#pulse').textContent()) === 'live')
  const [cookie, ...others] = await tab.context().cookies()
  t.match(cookie, { path: '/ops/east', httpOnly: true, sameSite: 'Strict' })
  t.same(others, [])
  t.equal(await tab.evaluate('document.cookie'), '', 'no script reads it')
  people.sessions.end(cookie?.value ?? '')
  server.closeAllConnections()
  await tab.getByLabel('Password').waitFor()
  t.equal(tab.url(), `${address}/`, 'a session that has ended leads to the form, in the same place')
  await enter(password)
  await tab.getByRole('button', { name: 'sign out' }).waitFor()
  const [newer] = await tab.context().cookies()
  await tab.getByRole('button', { name: 'sign out' }).click()
  await tab.getByLabel('Password').waitFor()
  t.same(await tab.context().cookies(), [])
  t.equal(people.sessions.find(newer?.value ?? ''), undefined)
  t.same(violations, [])
})
