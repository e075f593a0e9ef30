import { test } from 'tap'
import { divide, spanOf } from '../../../api/reads/range.js'
import { createZone } from '../../../schemas/time/zone.js'

test('hours begin with the hour of the clock, also where it changes by half an hour', async (t) => {
  const zone = createZone('Australia/Lord_Howe')
  const hoursOf = (day: string) =>
    divide(zone, spanOf(zone, { from: day, to: day }), 'hour').map(([start, end]) => {
      const { hour, minute } = zone.toWall(start)
      return `${hour}:${String(minute).padStart(2, '0')} ${(end - start) / 60}`
    })
  const spring = hoursOf('2026-10-04')
  t.same(spring.slice(1, 5), ['1:00 60', '2:30 30', '3:00 60', '4:00 60'])
  const autumn = hoursOf('2026-04-05')
  t.same(autumn.slice(0, 4), ['0:00 60', '1:00 60', '1:30 30', '2:00 60'])
  t.equal(spring.length, 24)
  t.equal(autumn.length, 25)
})
