import { test } from 'tap'
import { feedNames, feeds } from '../../schemas/feed.js'

test('every feed is found under the name that its files carry', async (t) => {
  t.same(feedNames, Object.keys(feeds))
  for (const name of feedNames) {
    t.equal(feeds[name].name, name)
    t.match(name, /^[A-Z][A-Za-z]*$/, 'a name that a file name can hold')
    t.equal(new Set(feeds[name].columns).size, feeds[name].columns.length)
  }
})

test('a usage feed has the five columns of the specification in their order', async (t) => {
  for (const name of ['Electric', 'Gas'] as const) {
    const columns = ['AccountNumber', 'ExternalSiteID', 'MeterID', 'TimeStamp', 'TotalUnit']
    t.same(feeds[name].columns, columns)
    t.equal(feeds[name].kind, 'usage')
    t.equal(feeds[name].commodity, name)
  }
})
