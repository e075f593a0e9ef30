import { EventEmitter } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import {
  createRateLimit,
  paceHandshakes,
  senderOf,
  senderOfBytes,
} from '../../../api/listeners/pace.js'

function createServer() {
  const server = new EventEmitter()
  const begun: string[] = []
  server.on('connection', ({ remoteAddress }) => begun.push(remoteAddress))
  paceHandshakes(server)
  const connect = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroyed: false })
    server.emit('connection', socket)
    return socket
  }
  return { begun, connect }
}

t.test('handshakes are begun a few in a turn, and all of them', async (t) => {
  const { begun, connect } = createServer()
  for (let at = 0; at < 1_000; at++) connect('10.0.0.1')
  let turns = 0
  for (let before = 0; before < 1_000; turns++) {
    await turn()
    t.ok(begun.length - before <= 10)
    before = begun.length
  }
  t.ok(turns > 99)
  connect('10.0.0.1')
  await turn()
  t.equal(begun.length, 1_001, 'later ones too')
})

t.test('a thousand connections of one address do not hold up another address', async (t) => {
  const { begun, connect } = createServer()
  for (let at = 0; at < 1_000; at++) connect('10.0.0.1')
  for (let at = 0; at < 3; at++) connect('10.0.0.2')
  for (let at = 0; at < 3; at++) await turn()
  t.equal(begun.filter((address) => address === '10.0.0.2').length, 3)
})

t.test('a connection that is gone by then is skipped', async (t) => {
  const { begun, connect } = createServer()
  const gone = connect('10.0.0.1')
  connect('10.0.0.1')
  gone.destroyed = true
  await turn()
  await turn()
  t.equal(begun.length, 1)
})

t.test('the addresses of an IPv6 network of 64 bits are one sender', async (t) => {
  const allowed = createRateLimit(3)
  const counts = [0, 1, 2, 3, 4, 5, 6].map((at) =>
    allowed(0, () => senderOf(`2001:db8:0:7::${at}`)),
  )
  t.same(counts, [true, true, true, true, true, true, false])
  t.ok(
    allowed(0, () => senderOf('2001:db8:0:8::1')),
    'another network',
  )
})

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex')).buffer

for (const [address, sender, bytes, sameByBytes] of [
  [
    '2001:db8:0:7::1',
    '2001:db8:0:7',
    '20010db8000000070000000000000001',
    '20010db80000000700000000000000ff',
  ],
  [
    '2001:db8::7:0:0:0:1',
    '2001:db8:0:7',
    '20010db8000000070000000000000001',
    '20010db8000000071000000000000000',
  ],
  [
    'fe80::1:2:3:4',
    'fe80:0:0:0',
    'fe800000000000000001000200030004',
    'fe800000000000000009000200030004',
  ],
  ['::1', '0:0:0:0', '00000000000000000000000000000001', '00000000000000000000000000000001'],
  ['::ffff:10.1.2.3', '10.1.2.3', '00000000000000000000ffff0a010203', '0a010203'],
  ['10.1.2.3', '10.1.2.3', '0a010203', '00000000000000000000ffff0a010203'],
] as const) {
  t.test(`${address} is of the sender ${sender}`, async (t) => {
    t.equal(senderOf(address), sender)
    t.equal(senderOfBytes(bytesOf(bytes)), senderOfBytes(bytesOf(sameByBytes)))
  })
}

t.test('IPv4 addresses behind an IPv6 socket are senders of their own', async (t) => {
  const [one, other] = ['0a010203', '0a010204'].map((end) =>
    bytesOf(`00000000000000000000ffff${end}`),
  )
  t.not(senderOfBytes(one as ArrayBuffer), senderOfBytes(other as ArrayBuffer))
  t.not(senderOf('::ffff:10.1.2.3'), senderOf('::ffff:10.1.2.4'))
  t.equal(senderOfBytes(new ArrayBuffer(0)), 0)
  t.equal(senderOf(''), '')
})
