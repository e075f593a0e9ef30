import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { attempt, putBeside } from '../../../pipeline/sources/disk.js'
import { createSmallDisk } from '../../rig/small-disk.js'

t.test('a file that fills its disk gives the space back', async (t) => {
  const { path } = createSmallDisk(t, 1)
  const putting = putBeside(join(path, 'one.csv'), ' '.repeat(2_000_000))
  await t.rejects(putting, { code: 'DISK_FULL' })
  t.same(readdirSync(path), [])
})

t.test('a read-only file system is named with what to do, and waits', async (t) => {
  const readOnly = async () => {
    throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' })
  }
  await t.rejects(attempt('/share/a.csv', readOnly), {
    code: 'PERMISSION',
    retry: true,
    detail: '/share/a.csv: the file system is read-only; mount it for writing',
  })
})
