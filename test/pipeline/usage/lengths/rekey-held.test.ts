import t from 'tap'
import { claimHeld, register } from '../../../../pipeline/customers/registrations.js'
import { createLineByHand } from '../../by-hand.js'
import { customerAt, registeringAt } from '../../customers/registering.js'
import { createMeters, hourly, wholeDay } from './meters.js'

const line = await createLineByHand(t)
const { store } = line.context
const profile = { ...line.context.profile, ingestion: 'registered' as const }
const context = { ...line.context, profile }
const { send, series, isSound } = createMeters(line)

const customer = (accountNumber: string) =>
  customerAt({ clientId: accountNumber, accountNumber, externalSiteId: 'S-M', meterId: 'M' })
const registering = { ...registeringAt(store), profile }

t.test(
  'held reads of a guessed length get the one that is proved behind their claim',
  async (t) => {
    await register(registering, [customer('Z')])
    await send(hourly('M', 1, [8], 2), 'Electric', context)
    await send(hourly('M', 1, [9], 2), 'Electric', context)
    t.same(await series('M'), [])
    await register(registering, [customer('A')])
    await claimHeld(context)
    t.same(await series('M'), [{ day: 1, seconds: 900, rows: 2, sum: 4 }])
    t.match(await send(hourly('M', 2, wholeDay, 1), 'Electric', context), {
      notes: { rekeyed: { rows: 2, meters: 1 } },
    })
    t.same(await series('M'), [
      { day: 1, seconds: 3_600, rows: 2, sum: 4 },
      { day: 2, seconds: 3_600, rows: 24, sum: 24 },
    ])
    await isSound(t)
  },
)
