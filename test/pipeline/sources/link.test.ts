import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createLink } from '../../../pipeline/sources/link.js'
import type { RemoteFiles } from '../../../pipeline/sources/remote-files.js'
import { Fault } from '../../../schemas/fault.js'

t.test('one call waits for a server that is silent, and others fail as it did', async (t) => {
  let isSilent = true
  let connections = 0
  const remote = { isOpen: () => true, close: async () => undefined } as unknown as RemoteFiles
  const link = createLink(async () => {
    connections++
    if (!isSilent) return remote
    await sleep(1_100)
    throw new Fault('SOURCE_UNREACHABLE', 'no response within 1100 ms')
  })
  t.teardown(() => link.close())
  const call = () => link.use(async () => 'answered')
  const calls = () => Promise.allSettled([call(), call(), call()])
  const failed = { status: 'rejected', reason: { code: 'SOURCE_UNREACHABLE' } }
  t.match(await calls(), [failed, failed, failed])
  t.equal(connections, 3, 'nobody knew')
  t.match(await calls(), [failed, failed, failed])
  t.equal(connections, 4)
  isSilent = false
  const answered = { status: 'fulfilled', value: 'answered' }
  t.match(await calls(), [answered, failed, failed])
  t.match(await calls(), [answered, answered, answered])
})

t.test('a long download from a server that answers again holds up nobody', async (t) => {
  let isSilent = true
  const remote = {
    look: async () => undefined,
    isOpen: () => true,
    close: async () => undefined,
  } as unknown as RemoteFiles
  const link = createLink(async () => {
    if (!isSilent) return remote
    await sleep(1_100)
    throw new Fault('SOURCE_UNREACHABLE', 'no response within 1100 ms')
  })
  t.teardown(() => link.close())
  await t.rejects(link.use(async () => undefined))
  isSilent = false
  const ending = new AbortController()
  const looked = new EventTarget()
  const asked = once(looked, 'looked')
  const download = link.use(async (one) => {
    await one.look('file')
    looked.dispatchEvent(new Event('looked'))
    await once(ending.signal, 'abort')
    return 'downloaded'
  })
  await asked
  const call = () => link.use(async () => 'answered')
  t.same(await Promise.all([call(), call()]), ['answered', 'answered'])
  ending.abort()
  t.equal(await download, 'downloaded')
})

t.test('a server that refuses at once is asked by each call', async (t) => {
  let connections = 0
  const link = createLink(async () => {
    connections++
    throw new Fault('SOURCE_UNREACHABLE', 'connection refused')
  })
  for (let round = 0; round < 2; round++) {
    await Promise.allSettled([1, 2].map(() => link.use(async () => undefined)))
  }
  t.equal(connections, 4)
})
