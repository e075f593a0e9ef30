import { t } from 'tap'
import { createRig, people } from '../rig.js'
import { longDays as days, longMeters as meters, readFarApart } from './long-feed.js'

const gateway = await createRig(t, {
  profile: { reads: { secondsMax: 60, waitMsMax: 60_000 } },
  identity: { clockToleranceSeconds: 0 },
})
const { store, entries } = gateway
await readFarApart(store, people.active)

/** What comes of a download with a token that is valid for so long, and whether it ends as it should. */
async function download(seconds: number, encoding: string, from: string = days[0]) {
  const url = `${gateway.url}/v1/gateway/green-button?from=${from}&to=${days[1]}`
  const token = await gateway.token(people.active, { seconds })
  const headers = { Authorization: `Bearer ${token}`, 'Accept-Encoding': encoding }
  const answer = await fetch(url, { headers })
  let text = ''
  let isWhole = true
  try {
    const decoder = new TextDecoder()
    for await (const piece of answer.body ?? []) text += decoder.decode(piece, { stream: true })
  } catch {
    isWhole = false
  }
  const { status } = answer
  return { status, text, isWhole, encoding: answer.headers.get('content-encoding') }
}

for (const encoding of ['identity', 'gzip']) {
  t.test(`a token that ends in the middle of a download cuts it, ${encoding}`, async (t) => {
    let seconds = 1
    let found = await download(seconds, encoding)
    // A busy machine may take longer to answer, or to begin the body, than a token lasts.
    while (found.status === 401 || found.text === '') {
      seconds *= 2
      found = await download(seconds, encoding)
    }
    t.match(found, { status: 200, isWhole: false, encoding: encoding === 'gzip' ? 'gzip' : null })
    t.match(found.text, '<feed')
    t.notMatch(found.text, '</feed>')
    const entry = { route: 'green-button', status: 200, reason: 'token or account ended' }
    t.match(entries.at(-1), entry)
  })
}

t.test('with a token that lasts it comes to its end', async (t) => {
  const found = await download(3_600, 'gzip', days[1])
  t.match(found, { status: 200, isWhole: true })
  t.equal(found.text.match(/<IntervalBlock/g)?.length, meters.length)
  t.match(found.text, /<\/feed>\n$/)
})
