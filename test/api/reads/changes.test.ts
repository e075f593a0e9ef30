import t from 'tap'
import { readChanges } from '../../../api/reads/changes.js'
import { migratedStore } from '../../pipeline/customers/registering.js'
import { readingOf } from './rig.js'

t.test('a forged cursor is answered or refused, whatever its numbers are', async (t) => {
  const store = await migratedStore(t)
  const context = { ...readingOf(t, store), catchUp: async () => undefined }
  const kindOf = async (text: string) => {
    const cursor = Buffer.from(text).toString('base64url')
    return (await readChanges(context, { cursor })).kind
  }
  t.equal(await kindOf('0.0'), 'found')
  for (const text of ['007.0', '999999999999999.18446744073709551615']) {
    t.equal(await kindOf(text), 'gone', text)
  }
  for (const text of ['1.007', '1.00', '1.18446744073709551616', '1.-1', '1.1e3', '1.1\n']) {
    t.equal(await kindOf(text), 'wrong', text)
  }
})
