import { t } from 'tap'
import { windowOf } from '../../../schemas/gateway/connect.js'
import { isEspiScope, readEspiScope } from '../../../schemas/gateway/espi-scope.js'

t.test('a scope says what the data may contain', async (t) => {
  const published =
    'FB=1_3_4_5_13_14_15_19_37_39;IntervalDuration=3600;BlockDuration=monthly;HistoryLength=94608000'
  t.same(readEspiScope(published), {
    functions: new Set([1, 3, 4, 5, 13, 14, 15, 19, 37, 39]),
    lengths: new Set([3_600]),
    historySeconds: 94_608_000,
  })
  t.same(readEspiScope('FB=4_16'), { functions: new Set([4, 16]) })
  const more =
    'FB=4;IntervalDuration=900_3600_daily;SubscriptionFrequency=daily;AccountCollection=5;BR=1;'
  t.same(readEspiScope(more)?.lengths, new Set([900, 3_600, 86_400]))
  t.same(readEspiScope('FB=4;IntervalDuration=monthly')?.lengths?.has(3_600), false)
  t.equal(readEspiScope('FB=4;HistoryLength=0')?.historySeconds, 0)
})

t.test('a scope that cannot be read allows nothing', async (t) => {
  for (const scope of [
    ...['FB=', 'FB=all', 'FB=4_', 'FB=-4', 'FB=4.5', 'IntervalDuration=3600', '', ';', 'openid'],
    ...['FB=4;HistoryLength=', 'FB=4;HistoryLength=long', 'FB=4;FB=16', 'FB=4;HistoryLength=1e9'],
  ]) {
    t.equal(readEspiScope(scope), undefined, scope)
  }
  t.same(['FB=4', 'HistoryLength=0;FB=4', 'FB=', 'openid', 'XFB=4'].map(isEspiScope), [
    true,
    true,
    true,
    false,
    false,
  ])
})

t.test(
  'a window without bounds has every instant, and one with fractions only whole seconds',
  async (t) => {
    const all = [0, 2 ** 32 - 1]
    t.same(windowOf({}), { published: all, updated: all })
    t.same(
      windowOf({
        'published-min': '2026-01-01T00:00:00.5Z',
        'published-max': '2026-01-01T00:00:02.5+00:00',
        'updated-min': '1900-01-01T00:00:00Z',
        'updated-max': '9999-01-01T00:00:00Z',
      }),
      { published: [1_767_225_601, 1_767_225_602], updated: all },
    )
  },
)
