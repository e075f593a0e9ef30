import { t } from 'tap'
import { createMatch, type Route } from '../../api/route.js'

const routeOf = (path: string, more: Partial<Route> = {}): Route => ({
  ...{ name: path, method: 'GET', path, access: 'bearer' },
  run: () => ({ kind: 'bare', status: 200 }),
  ...more,
})

const match = createMatch(
  [
    routeOf('/usage'),
    routeOf('/files/*'),
    routeOf('/files/*', { method: 'PUT', access: 'mutual' }),
    routeOf('/fixed/*', { isFixed: true }),
    routeOf('/fixed/*/point', { isFixed: true }),
    routeOf('/fixed/*/point/*', { isFixed: true }),
  ],
  ['v1', 'v2'],
)
const get = (path: string) => match({ method: 'GET', path, isMutual: false })

t.test('a segment of a path matches any that is not empty', async (t) => {
  for (const [path, name, rest, version] of [
    ['/v1/usage', '/usage', '', 'v1'],
    ['/v2/files/a', '/files/*', 'a', 'v2'],
    ['/v1/files/*', '/files/*', '*', 'v1'],
    ['/v1/files/%2F', '/files/*', '%2F', 'v1'],
    ['/fixed/a', '/fixed/*', 'a', ''],
    ['/fixed/a/point', '/fixed/*/point', 'a', ''],
    ['/fixed/a/point/b', '/fixed/*/point/*', 'a/b', ''],
    ['/fixed/*/point/*', '/fixed/*/point/*', '*/*', ''],
  ] as const) {
    t.match(get(path), { kind: 'route', route: { name }, rest, version }, path)
  }
  for (const path of [
    ...['', '/', '/v1', '/v1/', '/v3/usage', '/usage', '/v1/usage/', '/v1/files/', '/v1/files/a/b'],
    ...['/v1/fixed/a', '/fixed/', '/fixed//point', '/fixed/a/point/', '/fixed/a/point/b/c'],
    ...['/fixed/a/POINT', `/fixed${'/a'.repeat(10_000)}`, '/v1/*', '/*/usage'],
  ]) {
    t.same(get(path), { kind: 'unknownPath' }, path.slice(0, 40))
  }
})

t.test(
  'a method that a path has not is refused, and one of the other listener unknown',
  async (t) => {
    const put = (path: string, isMutual: boolean) => match({ method: 'PUT', path, isMutual })
    t.match(put('/v1/files/a', true), { kind: 'route', rest: 'a' })
    t.same(put('/v1/files/a', false), { kind: 'unknownPath' })
    t.same(put('/fixed/a/point', false), { kind: 'wrongMethod', allow: 'GET' })
  },
)
