import { t } from 'tap'
import { redisOptionsOf } from '../../../pipeline/queues/redis-url.js'

t.test('the path of a URL is the number of a database, or the name of the primary', async (t) => {
  for (const [path, db] of Object.entries({ '': 0, '/': 0, '/3': 3, '/3/': 3, '/12': 12 })) {
    t.match(redisOptionsOf(`redis://u:p%25%2F%23@h:1${path}`), {
      ...{ host: 'h', port: 1, username: 'u', password: 'p%/#', db },
    })
  }
  for (const path of ['/power', '/power/', '/power?sentinelUsername=u&sentinelPassword=s']) {
    t.match(redisOptionsOf(`redis+sentinel://:p@a,b:2${path}`), {
      name: 'power',
      password: 'p',
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 2 },
      ],
    })
  }
})

t.test('what would be ignored is refused with the remedy and without the password', async (t) => {
  const encode = /write % as %25, \/ as %2F, # as %23 and \? as %3F/
  const refused: readonly (readonly [url: string, message: RegExp])[] = [
    ['redis://:hush@h/queue', /must end with \/NUMBER of the database/],
    ['redis://:hush@h/3//', /must end with \/NUMBER of the database/],
    ['redis://:hush@h/3/4', /must end with \/NUMBER of the database/],
    ['redis://:hush@h/-1', /must end with \/NUMBER of the database/],
    ['redis://:hush@h/?db=3', /parameter.*\/NUMBER/],
    ['redis://:hush@h?caFile=/hush.pem', /parameter/],
    ['redis://:hush@h?sentinelPassword=hush', /parameter/],
    ['rediss://:hush@h?sentinelPassword=hush', /parameter/],
    ['redis+sentinel://:hush@h/power?sentinelDb=3', /parameter.*sentinelPassword/],
    ['redis+sentinel://:hush@h/power#hush', encode],
    ['redis://:hush@h/3#hush', encode],
    ['redis://u:1#hush@h', encode],
    ['redis://u:hush%@h', encode],
    ['redis://u:1/hush@h', encode],
    ['redis://u:hu/sh@h', encode],
    ['redis://u:1?hush@h', encode],
  ]
  for (const [url, message] of refused) {
    t.throws(() => redisOptionsOf(url), { code: 'CONFIG', message: /REDIS_URL/ }, url)
    t.throws(() => redisOptionsOf(url), { message }, url)
    t.throws(() => redisOptionsOf(url), { message: /^(?!.*hush)/ }, url)
  }
})
