import t from 'tap'
import { listDue } from '../../../infra/alerts/alerts.js'
import type { Notification } from '../../../infra/alerts/notifications.js'
import { type Alert, coversDisks, type Sight } from '../../../infra/alerts/present.js'
import { alertSchema } from '../../../schemas/settings/alert.js'
import { parseProfile } from '../../../schemas/settings/profile.js'

const profile = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  alerts: { url: 'https://alerts.example.com/', secret: { env: 'SECRET' }, repeatHours: 24 },
})
const settings = profile.alerts ?? never()
function never(): never {
  throw new Error('the section was not read')
}
const start = Date.UTC(2026, 0, 15)
const hour = 3_600_000
const source: Alert = {
  key: 'source:mdm',
  since: new Date(start - hour),
  about: { kind: 'source', source: 'mdm', code: 'SOURCE_LOGIN', failures: 3 },
}
const sees = (...alerts: readonly Alert[]): readonly Sight[] => [
  { covers: ({ key }) => key.startsWith('source:'), alerts },
]
const rules = (ms: number) => ({ profile, settings, now: new Date(start + ms) })
const due = (sights: readonly Sight[], last: Notification | undefined, ms: number) =>
  listDue(sights, new Map(last && [[last.key, last]]), rules(ms))
const ended = (told: Notification | undefined, more: Partial<Notification> = {}): Notification => {
  if (told === undefined) throw new Error('nothing is due')
  return { ...told, attempts: 1, outcome: 'delivered', status: 204, ...more }
}

const [first] = due(sees(source), undefined, 0)
const raised = ended(first)

t.test('what is the matter is told once, again only when repeatHours are over', async (t) => {
  t.match(first, { key: 'source:mdm', told: 1, state: 'raised', outcome: 'open' })
  t.same(due(sees(source), raised, 24 * hour - 1), [])
  const [again] = due(sees({ ...source, since: new Date(start) }), raised, 24 * hour)
  t.match(again, { told: 2, state: 'raised' })
  const [before, after] = [raised, ended(again)].map(({ body }) =>
    alertSchema.parse(JSON.parse(body)),
  )
  t.equal(after?.since, before?.since, 'it has lasted since it was told first')
  t.not(after?.id, before?.id, 'it is another message')
})

t.test('that it is over is told once, by a look that could see it', async (t) => {
  t.same(due([{ covers: () => false, alerts: [] }], raised, hour), [])
  const [over] = due(sees(), raised, hour)
  t.match(over, { told: 2, state: 'resolved' })
  t.same(due(sees(), ended(over), 48 * hour), [])
  t.match(due(sees(source), ended(over), 48 * hour), [{ told: 3, state: 'raised' }])
})

t.test(
  'an open message is sent as it was, and nothing else of its key until it has ended',
  async (t) => {
    const open = { ...raised, outcome: 'open', retryAt: new Date(start + hour) } as const
    for (const sights of [sees(source), sees()]) {
      t.same(due(sights, open, hour - 1), [], 'another may be at it')
      t.same(due(sights, open, hour), [open])
    }
    const over = { ...open, state: 'resolved' } as const
    t.same(
      due(sees(source), over, hour),
      [over],
      'that it is over is said before it is raised again',
    )
    t.same(due(sees(), open, -48 * hour), [open], 'a clock that was ahead holds nothing up')
  },
)

t.test('a message that was refused is not told anew before its time', async (t) => {
  const refused = ended(first, { outcome: 'refused', status: 400 })
  t.same(due(sees(source), refused, hour), [])
  t.match(due(sees(source), refused, 24 * hour), [{ told: 2 }])
})

t.test('of a disk only its machine knows, and of a machine that is gone nobody', async (t) => {
  const covers = (host: string, ms: number) =>
    coversDisks({ host, settings, now: new Date(start + ms) })({
      key: 'disk:a',
      toldAt: new Date(start),
    })
  t.ok(covers('a', 0))
  t.notOk(covers('b', 48 * hour), 'it would have been told again, but for a look or two')
  t.ok(covers('b', 49 * hour))
})
