import { EventEmitter } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { paceHandshakes } from '../../../api/listeners/pace.js'

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
