import t, { type Test } from 'tap'
import { header } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'
import { byEachPath, createContextOf } from './each-path.js'

const line = await createLineByHand(t)
const context = createContextOf(line)({ usage: { rejectedShareMax: 1 } })

const good = 'A,S,M,3/4/2024 0:15,2'
const wrong = {
  'one empty column too many': 'A,S,M,3/4/2024 0:00,1,',
  'one empty column and a blank': 'A,S,M,3/4/2024 0:00,1, ',
  'one column of a control character': 'A,S,M,3/4/2024 0:00,1,\u0001',
  'two empty columns too many': 'A,S,M,3/4/2024 0:00,1,,',
  'one column too few': 'A,S,M,3/5/2024 0:00',
  'an empty quantity': 'A,S,M,3/5/2024 0:00,',
} as const

async function judgeAlike(t: Test, name: string, lines: readonly string[], end: string) {
  const { judged } = await byEachPath(context, name, [header, ...lines, ''].join(end))
  t.ok(judged.size > 1, [...judged.keys()].join())
  const [first, ...others] = judged.values()
  for (const other of others) t.same(other, first)
  return first?.receipt
}

for (const [at, [what, row]] of Object.entries(wrong).entries()) {
  t.test(`every path rejects a row with ${what}`, async (t) => {
    const receipt = await judgeAlike(t, `DEMO_05032024_Electric_${at}.csv`, [good, row], '\n')
    t.match(receipt, { rows: { read: 2, accepted: 1, rejected: 1 } })
  })
}

t.test('every path rejects all of them in a file with CR LF and quotes', async (t) => {
  const lines = [good, ...Object.values(wrong), '"A","S","M",3/4/2024 0:30,"3"']
  const receipt = await judgeAlike(t, 'DEMO_06032024_Electric_0.csv', lines, '\r\n')
  t.match(receipt, { rows: { read: 8, accepted: 2, rejected: 6 } })
})
