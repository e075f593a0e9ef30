import t from 'tap'
import { readStanding } from '../../../infra/operations/problems.js'
import { parseProfile } from '../../../schemas/settings/profile.js'

t.test('servers that do not answer are named, and nothing hangs', async (t) => {
  const standing = await readStanding({
    store: { url: 'http://127.0.0.1:1', username: 'u', password: 'hush', database: 'tieline' },
    redisUrl: 'redis://:hush@127.0.0.1:1',
    profile: parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' }),
  })
  t.same(standing.away.map(({ code }) => code).sort(), ['QUEUE_UNREACHABLE', 'STORE_UNREACHABLE'])
  t.notMatch(JSON.stringify(standing), /hush/)
  t.match(standing, { waiting: [], quarantined: [] })
})
