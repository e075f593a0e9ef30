import { t } from 'tap'
import { readFarApart } from '../reads/long-feed.js'
import { people } from '../rig.js'
import { createConnectRig, scopes } from './rig.js'

const rig = await createConnectRig(t, (store) => readFarApart(store, people.active))
const { provider, get } = rig

/** The batch with a token that is valid for so long: its status, its text, and whether it came to its end. */
async function batch(seconds: number) {
  await provider.restart({ seconds: 3_600 })
  const lasting = await provider.signIn(people.active, scopes.intervals)
  const feed = await (await get('Subscription', lasting.accessToken)).text()
  const id = /Subscription\/([\w-]+)\/UsagePoint/.exec(feed)?.[1] ?? ''
  await provider.restart({ seconds })
  const { accessToken } = await provider.signIn(people.active, scopes.intervals)
  const answer = await get(`Batch/Subscription/${id}`, accessToken)
  let text = ''
  try {
    const decoder = new TextDecoder()
    for await (const piece of answer.body ?? []) text += decoder.decode(piece, { stream: true })
  } catch {
    return { status: answer.status, text, isWhole: false }
  }
  return { status: answer.status, text, isWhole: true }
}

t.test('a token that ends in the middle of a batch cuts it', async (t) => {
  let seconds = 1
  let found = await batch(seconds)
  // A busy machine may take longer to answer, or to begin the body, than a token lasts.
  while (found.status === 401 || found.text === '') {
    seconds *= 2
    found = await batch(seconds)
  }
  t.match(found, { status: 200, isWhole: false })
  t.match(found.text, '<feed')
  t.notMatch(found.text, '</feed>')
  const entry = { route: 'espi batch', status: 200, reason: 'token or account ended' }
  t.match(rig.entries.at(-1), entry)
})
