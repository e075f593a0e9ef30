import t from 'tap'
import { judgeUntaxed } from '../../../infra/checks/rates.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { billRig } from '../../pipeline/bills/rig.js'

t.test('a component that is named in billing.untaxed and in no rate is a warning', async (t) => {
  const { store, publish } = await billRig(t)
  const judge = (...untaxed: readonly string[]) => {
    const billing = { untaxed }
    return judgeUntaxed(
      store,
      parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit', billing }),
    )
  }
  t.match(await judge(), { state: 'skipped' })
  t.match(await judge('Delivery'), { state: 'skipped' }, 'before there are rates')
  await publish({
    RateCodes: ['FLAT,Flat,Flat,,'],
    RateFlat: ['FLAT,0.1,2025-01-01,,', 'FLAT,0.2,2025-01-01,,Delivery'],
  })
  t.match(await judge('Delivery'), { state: 'good' })
  t.match(await judge('Delivery', 'delivery'), {
    state: 'warning',
    detail: /no rate has: delivery$/,
    todo: /the rates have Delivery, Energy$/,
  })
})
