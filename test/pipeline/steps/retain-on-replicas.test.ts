import t from 'tap'
import { retain } from '../../../pipeline/steps/retain.js'
import { createFolder } from '../../rig/folder.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { createLineOn } from '../by-hand.js'
import { profile, publishFile } from '../customers/registering.js'

const { stores, close } = await createReplicas(profile)
t.teardown(close)
const { r1, r2 } = stores

t.test('rejected rows are forgotten on all replicas when their days are over', async (t) => {
  const { context } = createLineOn(r1, createFolder(t))
  const more = { settled_at: '2025-01-01 00:00:00' }
  await publishFile(r1, { arrival: 1, feed: 'Electric', more })
  await r1.insert('reject', [{ arrival: 1, line: 2, code: 'X' }])
  await retain(context)
  for (const store of [r1, r2]) t.same(await store.rows({ sql: 'SELECT line FROM reject' }), [])
})
