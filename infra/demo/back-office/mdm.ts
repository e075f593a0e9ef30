import { addDays } from '../../../schemas/time/zone.js'
import { type DemoMeter, demoCustomers } from '../customers.js'
import { usageHeader } from '../usage-rows.js'
import {
  createOfficeServer,
  type OfficeAnswer,
  type OfficeServer,
  type OfficeSettings,
} from './server.js'

/** Every response covers this many days. */
const daysKept = 3

/**
 * The simulated MDM: `GET /usage?meterId&from&to` returns hourly reads in the usage layout,
 * `GET /usage.ndjson` the same as NDJSON, and `GET /asked` the requested meters.
 */
export function createDemoMdm({ port, seed, count }: OfficeSettings): Promise<OfficeServer> {
  const meters = new Map(
    demoCustomers(seed, count).flatMap((one) => one.meters.map((meter) => [meter.meterId, meter])),
  )
  const asked: string[] = []
  return createOfficeServer(port, ({ path, query }, fault): OfficeAnswer => {
    if (path === '/asked') return { status: 200, body: { asked } }
    const meterId = query.get('meterId') ?? ''
    asked.push(meterId)
    const meter = meters.get(meterId)
    if (fault.kind === 'refuse') return { status: 500, body: {} }
    if (fault.kind === 'missing' || meter === undefined) return { status: 404, body: {} }
    const rows = rowsOf(meter, query.get('to') ?? '')
    if (path !== '/usage.ndjson') {
      const lines = rows.map((row) => Object.values(row).join(','))
      return { status: 200, type: 'text/csv', body: `${usageHeader}\n${lines.join('\n')}\n` }
    }
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`)
    return { status: 200, type: 'application/x-ndjson', body: lines.join('') }
  })
}

function rowsOf({ accountNumber, externalSiteId, meterId, meterType }: DemoMeter, to: string) {
  const hours = meterType === 'Electric' ? 24 : 1
  return Array.from({ length: daysKept * hours }, (_, at) => {
    const [year, month, day] = addDays(to, -1 - Math.floor(at / hours))
      .split('-')
      .map(Number)
    const date = `${month}/${day}/${year}`
    return {
      AccountNumber: accountNumber,
      ExternalSiteID: externalSiteId,
      MeterID: meterId,
      TimeStamp: meterType === 'Electric' ? `${date} ${at % hours}:00` : date,
      TotalUnit: 1.5,
    }
  })
}
