import t from 'tap'
import { breaks, createConnections } from '../../../benchmarks/cluster/connections.js'
import { profile } from '../../pipeline/customers/registering.js'
import { createReplicas } from '../../rig/replicas/start.js'

const world = await createReplicas(profile)
t.teardown(world.close)
const connections = await createConnections(world, profile)
t.teardown(connections.close)
const { r1 } = connections.stores

for (const [at, how] of breaks.entries()) {
  t.test(`a client cannot know what became of its insert: ${how}`, async (t) => {
    connections.breakNext(how)
    const claim = { arrival: at + 1, claim: how }
    await t.rejects(r1.insert('arrival', [claim]), { code: 'STORE_UNREACHABLE' })
    await connections.idle()
    const sql = `SELECT claim FROM arrival WHERE arrival = ${at + 1}`
    const isCarried = how !== 'unsent' && !how.endsWith('before')
    t.same(await r1.rows({ sql }), isCarried ? [{ claim: how }] : [])
  })
}
