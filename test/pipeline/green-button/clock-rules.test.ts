import t from 'tap'
import { readClockRules } from '../../../pipeline/green-button/clock-rules.js'
import { createZone, wallSeconds } from '../../../schemas/time/zone.js'

const rulesOf = (timeZone: string, year = 2026) => readClockRules(createZone(timeZone), year)

t.test('the rules of the United States are those of the published samples', async (t) => {
  t.same(rulesOf('America/New_York'), {
    dstStartRule: '360E2000',
    dstEndRule: 'B40E2000',
    dstOffset: 3_600,
    tzOffset: -18_000,
  })
})

t.test('a clock without daylight time has no rule', async (t) => {
  t.same(rulesOf('America/Phoenix'), {
    dstStartRule: 'FFFFFFFF',
    dstEndRule: 'FFFFFFFF',
    dstOffset: 0,
    tzOffset: -25_200,
  })
})

/** The reading before the change that a rule means in a year, as seconds. */
function decode(rule: string, year: number): number {
  const bits = Number.parseInt(rule, 16)
  const take = (shift: number, width: number) => Math.floor(bits / 2 ** shift) % 2 ** width
  const month = take(28, 4)
  const [seconds, hour, weekday, operator] = [take(0, 12), take(12, 5), take(17, 3), take(25, 3)]
  const found: number[] = []
  for (let day = 1; day <= new Date(Date.UTC(year, month, 0)).getUTCDate(); day++) {
    if ((new Date(Date.UTC(year, month - 1, day)).getUTCDay() || 7) === weekday) found.push(day)
  }
  const least = take(20, 5)
  if (operator === 1) {
    const day = found.find((one) => one >= least) as number
    return Date.UTC(year, month - 1, day, hour) / 1_000 + seconds
  }
  const day = operator === 7 ? found.at(-1) : found[operator - 2]
  return Date.UTC(year, month - 1, day, hour) / 1_000 + seconds
}

t.test('each rule means the instants at which the zone changes its clock', async (t) => {
  const zones = ['America/Detroit', 'America/Denver', 'Europe/Berlin', 'Europe/London']
  for (const timeZone of [...zones, 'Australia/Sydney', 'America/Santiago']) {
    const zone = createZone(timeZone)
    for (let year = 2023; year < 2040; year++) {
      const rules = readClockRules(zone, year)
      for (const rule of [rules.dstStartRule, rules.dstEndRule]) {
        const wall = decode(rule, year)
        const offset = rule === rules.dstStartRule ? 0 : rules.dstOffset
        const at = wall - rules.tzOffset - offset
        const before = wallSeconds(zone.toWall(at - 1)) + 1
        const after = wallSeconds(zone.toWall(at))
        const change = rule === rules.dstStartRule ? rules.dstOffset : -rules.dstOffset
        t.equal(before, wall, `${timeZone} ${year} ${rule}`)
        t.equal(after, wall + change, `${timeZone} ${year} ${rule}`)
      }
    }
  }
})
