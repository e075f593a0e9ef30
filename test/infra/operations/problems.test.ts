import t from 'tap'
import { readProblems } from '../../../infra/operations/problems.js'
import { parseProfile } from '../../../schemas/settings/profile.js'

t.test('servers that do not answer are listed, and nothing hangs', async (t) => {
  const problems = await readProblems({
    store: { url: 'http://127.0.0.1:1', username: 'u', password: 'hush', database: 'tieline' },
    redisUrl: 'redis://:hush@127.0.0.1:1',
    profile: parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' }),
  })
  t.same(problems.away.map(({ code }) => code).sort(), ['QUEUE_UNREACHABLE', 'STORE_UNREACHABLE'])
  t.notMatch(JSON.stringify(problems), /hush/)
  t.match(problems, { waiting: [], quarantined: [] })
})
