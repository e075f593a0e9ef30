import t from 'tap'
import { createRest, restMs } from '../../../pipeline/queues/rest.js'

t.test('a look that finds nothing rests, until something is done', async (t) => {
  let [now, looks, found] = [0, 0, true]
  const rest = createRest(() => now)
  const look = () =>
    rest.look(async () => {
      looks++
      return found
    })
  await look()
  await look()
  t.equal(looks, 2, 'more may be there where something was found')
  found = false
  await look()
  await look()
  now += restMs - 1
  await look()
  t.equal(looks, 3)
  rest.end()
  await look()
  t.equal(looks, 4, 'something was done')
  now += restMs
  await look()
  t.equal(looks, 5, 'another process may have done something')
})

t.test('what is done while it looks, and a look that fails, leave no rest', async (t) => {
  let looks = 0
  const rest = createRest(() => 0)
  const none = async () => {
    looks++
    return false
  }
  await rest.look(async () => {
    rest.end()
    return none()
  })
  await t.rejects(
    rest.look(async () => {
      looks++
      throw new Error('no answer')
    }),
    { message: 'no answer' },
  )
  await rest.look(none)
  await rest.look(none)
  t.equal(looks, 3)
})
