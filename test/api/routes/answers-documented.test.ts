import { t } from 'tap'
import { createHandling } from '../../../api/handle.js'
import type { GatewayRequest } from '../../../api/request.js'
import { toOpenApi } from '../../../api/routes/openapi.js'
import { createIntakeRoutes } from '../../../api/routes/upload.js'
import { Fault } from '../../../schemas/fault.js'
import type { Intake, Taken } from '../../../schemas/settings/intake.js'
import { createDocumented } from '../reads/documented.js'

const receipt = {
  ...{ fileName: 'a.csv', fileId: '0'.repeat(64), feed: 'Gas', status: 'published', reason: null },
  rows: { read: 1, accepted: 1, duplicate: 0, superseded: 0, rejected: 0, unregistered: 0 },
  receivedAt: '2026-01-01T00:00:00.000Z',
}
const fields = {
  'repr-digest': `sha-256=:${'A'.repeat(43)}=:`,
  ...{ 'content-length': '1', 'content-type': 'text/csv', feed: 'Gas' },
}

/** What the intake does with a file of that name, or with pushed rows of that text. */
const takes: Readonly<Record<string, Taken>> = {
  good: { kind: 'arrived', arrival: 7 },
  part: { kind: 'part', bytes: 3 },
  wrong: { kind: 'wrong', detail: 'rename it' },
}
const intake: Intake = {
  take: async ({ name }) => {
    const taken = takes[name]
    if (taken === undefined) throw new Fault('DISK_FULL', name)
    return taken
  },
  push: async ({ text }) =>
    text === 'wrong'
      ? { kind: 'wrong', detail: 'push others' }
      : { kind: 'gathered', fileName: 'a.csv', rows: 1 },
  receipt: async ({ of }) =>
    ({ 1: JSON.stringify(receipt), 2: '{"fileName":"a.csv","status":"loading"}' })[of],
  close: async () => undefined,
}

interface Sent extends Partial<GatewayRequest> {
  readonly length?: string
}

const of = (method: string, path: string, more: Sent = {}) => ({ ...more, method, path })
const put = (name: string, more?: Sent) => of('PUT', `/files/${name}`, more)
const get = (name: string, more?: Sent) => of('GET', `/files/${name}`, more)
const post = (text: string, more?: Sent) => {
  async function* stream() {
    yield Buffer.from(text)
  }
  return of('POST', '/usage', { stream: stream(), ...more })
}
const stranger = { authorization: undefined }
/** Each body is read once. */
const createCases = (): readonly (readonly [number, ReturnType<typeof of>])[] => [
  [202, put('good')],
  [400, put('wrong')],
  [401, put('good', stranger)],
  [409, put('part')],
  [503, put('full')],
  [404, put('good', { isMutual: false })],
  [200, get('1')],
  [200, get('2')],
  [404, get('3')],
  [401, get('1', stranger)],
  [202, post('good')],
  [400, post('wrong')],
  [401, post('good', stranger)],
  [413, post('good', { length: '9000000' })],
  [405, of('DELETE', '/usage')],
]

interface Response {
  readonly headers?: object
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}

for (const errorStyle of ['table', 'status'] as const) {
  t.test(`answers of the intake are as documented, in the style ${errorStyle}`, async (t) => {
    const version = { name: 'v1' }
    const document = toOpenApi({
      ...{ version: version.name, isDeprecated: false, errorStyle, unknownStatus: 401 },
      ...{ required: 'full', hasBind: false, hasReads: false, hasPull: false, hasConnect: true },
      hasIntake: true,
    }) as unknown as Parameters<typeof createDocumented>[0] & {
      paths: Record<string, Record<string, { responses: Record<string, Response> }>>
    }
    const routes = createIntakeRoutes({
      intake,
      senderOf: async ({ authorization }) => authorization,
    })
    const { handle } = createHandling({
      ...{ routes, versions: [version], errorStyle, unknownStatus: 401 },
      ...{ answerMsMax: 1_000, requestsInFlightMax: 10 },
      ...{ log: () => undefined, onFailure: () => undefined },
    })
    for (const [status, { length, ...sent }] of createCases()) {
      const all: Readonly<Record<string, string>> = {
        ...fields,
        ...(length && { 'content-length': length }),
      }
      const { path } = sent
      const answer = await handle({
        ...{ authorization: 'platform', body: '', id: '', isMutual: true, startedAt: 0 },
        field: (name) => all[name],
        ...sent,
        path: `/v1${path}`,
      })
      const title = `${status} ${sent.method} ${path}`
      t.equal(answer.status, status, title)
      const operations = document.paths[path.startsWith('/files') ? '/files/{name}' : path] ?? {}
      const { responses = {} } = operations[sent.method.toLowerCase()] ?? operations['post'] ?? {}
      const { headers = {}, content } = responses[status] ?? responses['default'] ?? {}
      t.ok(responses[status] ?? responses['default'], `${title} is named`)
      const types = Object.keys(content ?? {})
      const given = new Map(answer.headers)
      t.same(given.has('Content-Type') ? [given.get('Content-Type')] : [], types, title)
      const own = [...given.keys()].filter((name) => !['Content-Type', 'Allow'].includes(name))
      t.same(own, Object.keys(headers), `header fields of ${title}`)
      const schema = content?.['application/json']?.schema
      if (schema === undefined) t.equal(answer.body, '', title)
      else {
        const documented = createDocumented(document, schema)
        t.same(documented.judge(JSON.parse(String(answer.body))), [], title)
      }
    }
    const { get: points } = document.paths['/Subscription/{subscriptionId}/UsagePoint'] ?? {}
    t.match(points?.responses[400], { content: { 'application/json': {} } }, 'of Connect My Data')
  })
}
