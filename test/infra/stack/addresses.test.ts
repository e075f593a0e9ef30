import { t } from 'tap'
import { externalRedis, externalStore, withoutPassword } from '../../../infra/stack/addresses.js'

t.test('a server elsewhere is named by a URL with its credentials', async (t) => {
  const clickhouseUrl = 'https://in%40gest:p%2Fw@ch.example:8443'
  const found = externalStore({ clickhouseUrl }, 'tieline')
  const store = {
    url: 'https://ch.example:8443',
    username: 'in@gest',
    password: 'p/w',
    database: 'tieline',
  }
  t.same(found, { store, reader: store }, 'the writer reads where there is no reader')
  const clickhouseReaderUrl = 'https://look@ch.example:8443'
  t.match(externalStore({ clickhouseUrl, clickhouseReaderUrl }, 'tieline')?.reader, {
    username: 'look',
    password: '',
  })
  t.equal(externalStore({}, 'tieline'), undefined)
  t.equal(externalRedis({}), undefined)
  t.equal(externalRedis({ redisUrl: 'rediss://:x@r:1' }), 'rediss://:x@r:1')
})

t.test('an invalid URL is refused without showing its password', async (t) => {
  const refused = [
    () => externalStore({ clickhouseUrl: 'tcp://u:hush@h:9000' }, 'tieline'),
    () => externalStore({ clickhouseUrl: 'hush' }, 'tieline'),
    () => externalRedis({ redisUrl: 'http://:hush@h' }),
  ]
  for (const open of refused) t.throws(open, { code: 'CONFIG', message: /^(?!.*hush)/ })
  t.equal(withoutPassword('redis://u:hush@h:6379/'), 'redis://h:6379')
})

t.test('what would be lost of a URL of ClickHouse is refused with the remedy', async (t) => {
  const encode = /write % as %25, \/ as %2F, # as %23 and \? as %3F/
  const refused: readonly (readonly [url: string, message: RegExp])[] = [
    ['http://u:hush%@h', encode],
    ['http://hush%:p@h', encode],
    ['http://u:hu/sh@h', encode],
    ['http://u:1/hush@h', encode],
    ['http://u:1#hush@h', encode],
    ['http://u:1?hush@h', encode],
    ['http://h/#hush', encode],
    ['http://h:8123/?database=hush', /without parameters: the profile names the database/],
  ]
  for (const [url, message] of refused) {
    const open = [
      () => externalStore({ clickhouseUrl: url }, 'tieline'),
      () => externalStore({ clickhouseUrl: 'http://h', clickhouseReaderUrl: url }, 'tieline'),
    ]
    for (const [at, name] of ['CLICKHOUSE_URL', 'CLICKHOUSE_READER_URL'].entries()) {
      const show = open[at] as () => unknown
      t.throws(show, { code: 'CONFIG', message: new RegExp(`^CONFIG: ${name} `) }, url)
      t.throws(show, { message }, url)
      t.throws(show, { message: /^(?!.*hush)/ }, url)
    }
  }
  const { store } = externalStore({ clickhouseUrl: 'http://h:1/proxied/' }, 'tieline') ?? {}
  t.equal(store?.url, 'http://h:1/proxied')
})
