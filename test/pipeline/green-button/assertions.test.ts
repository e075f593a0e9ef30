import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { createFolder } from '../../rig/folder.js'
import { absent, judge, mistakes, renderAssertions } from './assertions.js'
import { isThere, schemaErrors } from './judge.js'
import { createCustomer, feedOf, january } from './rig.js'

const guidePath = join(packageRoot(import.meta.url), 'infra', 'guides', 'green-button.md')
const heading = '## Assertions\n\n'

if (!isThere) t.pass('the published schema and rules are not here, so nothing can be judged')
else {
  const { store } = await createCustomer(t)
  const folder = createFolder(t)
  const feed = await feedOf(store, january)
  t.equal(schemaErrors(folder, feed), '', 'the feed is valid by the schema of ESPI 4.0')
  const results = judge(join(folder, 'feed.xml'))
  t.same(mistakes(results), [], 'every assertion that applies passes')
  const failing = new Set(results.flatMap(({ failures }) => failures))
  const unfounded = results.filter(
    ({ suite, failures }) => suite in absent && failures.length === 0,
  )
  t.same(unfounded, [], 'a suite that does not apply is one that would fail')
  t.notOk(failing.has('D043'), 'each block has costs')
  const guide = readFileSync(guidePath, 'utf8')
  const [before = ''] = guide.split(heading)
  const wanted = `${before}${heading}${renderAssertions(results)}`
  if (process.env['TIELINE_WRITE_ASSERTIONS'] === '1') writeFileSync(guidePath, wanted)
  else t.equal(guide, wanted, 'regenerate it: run this test with TIELINE_WRITE_ASSERTIONS=1')
}
