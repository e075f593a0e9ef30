import t from 'tap'
import { createAmbiguityCheck } from '../../../pipeline/intake/ambiguous-rows.js'
import { createZone } from '../../../schemas/time/zone.js'
import { storyProfile } from '../../story/rig/stack.js'

const late = new Date('2025-11-03T00:00:00Z')

function checkOf(usage: object = {}, now = late) {
  const profile = storyProfile({ profile: { usage } })
  const check = createAmbiguityCheck(profile, {
    zone: createZone(profile.timeZone),
    now: () => now,
  })
  return (times: string, meter = 'M', feed = 'Electric') => {
    const rows = times.split(' ').map((time) => `A,S,${meter},11/2/2025 ${time},1`)
    return check({ feed, text: `${rows.join('\n')}\n` })
  }
}

t.test('a call that has one row between the rows around the hour is refused', async (t) => {
  const check = checkOf()
  const expected = /^row 2 is AMBIGUOUS_TIME: .*send both, or times with an offset$/
  t.match(check('0:00 1:00 2:00'), expected)
  t.match(check('0:45 1:15 2:00'), expected)
  t.match(check('2:00 1:00 0:00', 'M', 'Gas'), expected, 'in any order, of any feed')
})

t.test('a row that may follow on what is stored is not', async (t) => {
  const check = checkOf()
  const fine = ['1:00', '0:00 1:00', '1:00 2:00', '1:15 1:30', '0:00 1:00 1:00 2:00', '0:00 2:00']
  for (const times of fine) t.equal(check(times), undefined, times)
  t.equal(check('0:45 1:00 1:30 1:00 1:30 2:00'), undefined, 'nor one whose place shows its hour')
  t.equal(checkOf({ clock: 'standard' })('0:00 1:00 2:00'), undefined)
  t.equal(checkOf({}, new Date('2025-11-02T06:30:00Z'))('0:00 1:00 2:00'), undefined)
})

t.test('rows of other meters and unreadable rows prove nothing', async (t) => {
  const check = createAmbiguityCheck(storyProfile(), {
    zone: createZone('America/Detroit'),
    now: () => late,
  })
  const rows = ['B,0:00', 'M,1:00', 'B,2:00'].map((row) => {
    const [meter, time] = row.split(',')
    return `A,S,${meter},11/2/2025 ${time},1`
  })
  t.equal(check({ feed: 'Electric', text: `${rows.join('\n')}\n` }), undefined)
  t.equal(check({ feed: 'Electric', text: 'A,S\n"\nA,S,M,soon,1\n' }), undefined)
})
