/**
 * # 4.2 The order of day and month
 *
 * What: The order of day and month is proved by the file itself, never guessed.
 * Why: 3/4 is the 3rd of April or the 4th of March. The wrong one puts reads into the wrong
 * bill.
 * Try: Load a file with day-first dates under a profile with `usage.dateOrder: MDY`.
 */
import t from 'tap'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t)

const text = (rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`
const daily = (meter: string, days: readonly string[]) =>
  days.map((day, index) => `A,S,${meter},${day},${index + 1}`)

t.test('a file whose dates are day first is quarantined with the proof', async (t) => {
  const days = ['11/4/2017', '12/4/2017', '13/4/2017', '14/4/2017']
  const receipt = await story.loadBytes('DEMO_15042017_Gas.csv', text(daily('G1', days)))
  t.match(receipt, {
    status: 'quarantined',
    dateOrder: 'DMY',
    rows: { read: 2, accepted: 0, rejected: 2 },
    held: { rows: 2, quantity: '3' },
  })
  t.match(receipt.reason, /DATE_ORDER: .*13\/4\/2017 has a first number above 12/)
})

t.test('a file with dates of both orders is quarantined, whichever the profile has', async (t) => {
  const days = ['1/13/2017', '1/14/2017', '14/1/2017', '2/1/2017']
  const receipt = await story.loadBytes('DEMO_15042017_Gas_2.csv', text(daily('G5', days)))
  t.match(receipt, { status: 'quarantined', dateOrder: 'mixed', rows: { accepted: 0 } })
  t.match(receipt.reason, /both orders: 1\/13\/2017 has a second .*; 14\/1\/2017 has a first/)
})

t.test('a date after the file itself proves the other order', async (t) => {
  const days = ['2/3/2017', '12/3/2017']
  const receipt = await story.loadBytes('DEMO_05042017_Gas.csv', text(daily('G2', days)))
  t.match(receipt, { status: 'quarantined', dateOrder: 'DMY' })
  t.match(receipt.dateOrderProof, /12\/3\/2017 lies after the file's date 2017-04-05 if read MDY/)
})

t.test('three days in a row under one order only prove it', async (t) => {
  const days = ['1/4/2017', '2/4/2017', '3/4/2017']
  const receipt = await story.loadBytes('DEMO_05052017_Gas.csv', text(daily('G3', days)))
  t.match(receipt, { status: 'quarantined', dateOrder: 'DMY' })
  t.match(receipt.dateOrderProof, /consecutive days only if read DMY/)
})

t.test('without proof the profile holds, and the receipt says so', async (t) => {
  const receipt = await story.loadBytes(
    'DEMO_05052017_Gas_2.csv',
    text(daily('G4', ['1/4/2017', '4/1/2017'])),
  )
  t.match(receipt, { status: 'published', dateOrder: 'MDY', timestampFormat: 'M/D/YYYY' })
  t.match(receipt.dateOrderProof, /both ways; dateOrder of the profile holds/)
})

t.test('evidence counts wherever in the file it stands', async (t) => {
  const rows = Array.from({ length: 40_000 }, (_, index) => `A,S,L${index},1/4/2017,1`)
  const receipt = await story.loadBytes(
    'DEMO_05052017_Gas_3.csv',
    text([...rows, 'A,S,LAST,13/4/2017,1']),
  )
  t.match(receipt, { status: 'quarantined', dateOrder: 'DMY' })
})
