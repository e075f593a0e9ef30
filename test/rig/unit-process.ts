import { once } from 'node:events'

/**
 * Imports unit test files, so that tap and what most of them import is loaded once for all. The
 * name of each file is written ahead of its tests.
 */
const files = process.argv.splice(3)
// tap names the folders of tests after the arguments that it finds: the name of the group.
const { t } = await import('tap')
for (const file of files) {
  t.comment(`file ${file}`)
  await import(`../../../${file}`)
  if (!t.idle) await once(t, 'idle')
}
