import { t } from 'tap'
import { noQuerySchema } from '../../../schemas/gateway/connect.js'
import { feedQuerySchema, readQuery, usageQuerySchema } from '../../../schemas/gateway/reads.js'

t.test('a wrong query is answered in the words of an address, not of a profile', async (t) => {
  t.equal(
    readQuery(feedQuerySchema, '').detail,
    'from: missing: add this parameter; to: missing: add this parameter',
  )
  t.equal(readQuery(noQuerySchema, 'depth=1').detail, 'leave out all parameters: there are none')
  t.equal(
    readQuery(feedQuerySchema, 'from=1970-01-01&to=2106-02-07').detail,
    'from: use a day from 1970-01-02 to 2105-12-31, YYYY-MM-DD; ' +
      'to: use a day from 1970-01-02 to 2105-12-31, YYYY-MM-DD',
  )
  t.match(readQuery(usageQuerySchema, 'granularity=year').detail, /granularity: use interval or/)
})
