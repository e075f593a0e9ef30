import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { versionsKnownGood } from '../../../infra/schema/self-test.js'
import { testFiles } from '../../rig/files.js'
import { createFolder } from '../../rig/folder.js'
import { sample } from '../../rig/sample.js'
import { engineBuilds, makeProjectWith } from './other-builds.js'

const stories = testFiles().filter((file) => file.startsWith(join('dist', 'test', 'story')))

t.test('each version that npm has a build of is known good', async (t) => {
  t.ok(stories.length > 30, 'the stories were found')
  t.same([...new Set(Object.values(engineBuilds))].sort(), [...versionsKnownGood])
})

for (const version of sample({ short: [], long: Object.keys(engineBuilds) })) {
  t.test(`the stories hold on the engine of chdb ${version}`, async (t) => {
    const folder = createFolder(t)
    makeProjectWith(version, folder)
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 1024 ** 3 } as const
    const { stdout } = spawnSync(process.execPath, ['dist/test/run.js', ...stories], options)
    const lines = stdout.trimEnd().split('\n')
    t.match(lines.at(-1), /^[1-9]\d+ passed, 0 failed, 0 skipped$/, stdout)
  })
}
