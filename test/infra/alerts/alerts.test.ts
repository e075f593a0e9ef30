import t from 'tap'
import { listDue } from '../../../infra/alerts/alerts.js'
import type { Notification } from '../../../infra/alerts/notifications.js'
import { type Alert, coversDisks, type RuleResult } from '../../../infra/alerts/rules.js'
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
const found = (...alerts: readonly Alert[]): readonly RuleResult[] => [
  { covers: ({ key }) => key.startsWith('source:'), alerts },
]
const rules = (ms: number) => ({ profile, settings, now: new Date(start + ms) })
const due = (results: readonly RuleResult[], last: Notification | undefined, ms: number) =>
  listDue(results, new Map(last && [[last.key, last]]), rules(ms))
const ended = (sent: Notification | undefined, more: Partial<Notification> = {}): Notification => {
  if (sent === undefined) throw new Error('nothing is due')
  return { ...sent, attempts: 1, outcome: 'delivered', status: 204, ...more }
}

const [first] = due(found(source), undefined, 0)
const raised = ended(first)

t.test('a problem is notified once, and again only after repeatHours', async (t) => {
  t.match(first, { key: 'source:mdm', sequence: 1, state: 'raised', outcome: 'open' })
  t.same(due(found(source), raised, 24 * hour - 1), [])
  const [again] = due(found({ ...source, since: new Date(start) }), raised, 24 * hour)
  t.match(again, { sequence: 2, state: 'raised' })
  const [before, after] = [raised, ended(again)].map(({ body }) =>
    alertSchema.parse(JSON.parse(body)),
  )
  t.equal(after?.since, before?.since, 'the start stays that of the first notification')
  t.not(after?.id, before?.id, 'it is a new message')
})

t.test('a resolution is notified once, by a rule that covers the alert', async (t) => {
  t.same(due([{ covers: () => false, alerts: [] }], raised, hour), [])
  const [over] = due(found(), raised, hour)
  t.match(over, { sequence: 2, state: 'resolved' })
  t.same(due(found(), ended(over), 48 * hour), [])
  t.match(due(found(source), ended(over), 48 * hour), [{ sequence: 3, state: 'raised' }])
})

t.test('an open notification is sent unchanged, and no other of its key before', async (t) => {
  const open = { ...raised, outcome: 'open', retryAt: new Date(start + hour) } as const
  for (const results of [found(source), found()]) {
    t.same(due(results, open, hour - 1), [], 'another worker may be sending it')
    t.same(due(results, open, hour), [open])
  }
  const over = { ...open, state: 'resolved' } as const
  t.same(
    due(found(source), over, hour),
    [over],
    'the resolution is sent before the alert is raised again',
  )
  t.same(due(found(), open, -48 * hour), [open], 'a clock that was ahead delays nothing')
})

t.test('a refused notification is not repeated early', async (t) => {
  const refused = ended(first, { outcome: 'refused', status: 400 })
  t.same(due(found(source), refused, hour), [])
  t.match(due(found(source), refused, 24 * hour), [{ sequence: 2 }])
})

t.test('a disk alert is resolved by its own machine, or when that machine is gone', async (t) => {
  const covers = (host: string, ms: number) =>
    coversDisks({ host, settings, now: new Date(start + ms) })({
      key: 'disk:a',
      notifiedAt: new Date(start),
    })
  t.ok(covers('a', 0))
  t.notOk(covers('b', 48 * hour), 'the machine may still repeat it')
  t.ok(covers('b', 49 * hour))
})
