import { spelled } from './fraction.js'
import { frames } from './frames.js'
import type { PlantedBill } from './planted-causes.js'
import type { RandomMeter } from './random-customers.js'
import type { Tariffs } from './tariff.js'
import { textOf, type WallCalendar } from './wall-calendar.js'

const file = (header: string, rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`
const named = (feed: string) => `DEMO_22112026_${feed}.csv`
const hourOf = (minute: number) =>
  `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`

/** The rate files of all tariffs. */
export function rateFilesOf(tariffs: Tariffs): Readonly<Record<string, string>> {
  return {
    [named('RateCodes')]: file(
      'RateCode,Description,RateType,Commodity,UnitOfMeasure',
      tariffs.codes.map(
        ({ rate, type, gas }) => `${rate},${rate},${type},${gas ? 'Gas,ccf' : 'Electric,kWh'}`,
      ),
    ),
    [named('RateTou')]: file(
      'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate,DayType,Component',
      tariffs.tou.map((row) => {
        const hours = `${hourOf(row.startMinute)},${hourOf(row.endMinute)}`
        return `${row.rate},${row.name},${row.amount},${hours},${row.from},${row.to},${row.dayType},${row.component}`
      }),
    ),
    [named('RateTiers')]: file(
      'RateCode,Tier,DailyProrateFactor,Amount,RateStartDate,RateEndDate,PeriodLimit,Component',
      tariffs.tiers.map(
        (row) =>
          `${row.rate},${row.tier},${row.dailyFactor},${row.amount},${row.from},${row.to},${row.periodLimit},${row.component}`,
      ),
    ),
    [named('RateFlat')]: file(
      'RateCode,Amount,RateStartDate,RateEndDate,Component',
      tariffs.flats.map(
        (row) => `${row.rate},${row.amount},${row.from},${row.to},${row.component}`,
      ),
    ),
    [named('RateFixed')]: file(
      'RateCode,Name,Kind,Basis,Amount,Taxable,RateStartDate,RateEndDate',
      tariffs.charges.map(
        (row) =>
          `${row.rate},${row.name},${row.kind},${row.basis},${row.amount},${row.taxable},${row.from},${row.to}`,
      ),
    ),
    [named('Holidays')]: file(
      'Date,Name,RateCode',
      tariffs.holidays.map(({ day, rate }) => `${day},Holiday,${rate}`),
    ),
  }
}

export function cycleFile(): Readonly<Record<string, string>> {
  const rows = frames.map(({ cycle, first, last }) => `${cycle},${first},${last}`)
  return { [named('BillingCycles')]: file('BillingCycleID,StartDate,EndDate', rows) }
}

const isSubDaily = ({ gas, seconds }: RandomMeter) => !gas && seconds < 86_400

/** Usage as utilities send it: by the clock on the wall, or in UTC. */
export function usageFilesOf(
  meters: readonly RandomMeter[],
  calendar: WallCalendar,
): Readonly<Record<string, string>> {
  const rowsOf = (isMeant: (one: RandomMeter) => boolean) =>
    meters.filter(isMeant).flatMap((one) => one.reads.map((read) => usageRow(one, read, calendar)))
  const files = [
    ['Electric', rowsOf((one) => isSubDaily(one) && one.stamps === 'wall')],
    ['Electric_2', rowsOf((one) => isSubDaily(one) && one.stamps === 'offset')],
    ['Electric_3', rowsOf((one) => !one.gas && !isSubDaily(one))],
    ['Gas', rowsOf(({ gas }) => gas)],
  ] as const
  const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
  return Object.fromEntries(
    files.flatMap(([feed, rows]) => (rows.length === 0 ? [] : [[named(feed), file(header, rows)]])),
  )
}

function usageRow(
  { meter, seconds, stamps }: RandomMeter,
  { instant, account, thousandths }: RandomMeter['reads'][number],
  calendar: WallCalendar,
): string {
  const { day, minute } = calendar.toWall(instant)
  const [year, month, date] = textOf(day).split('-').map(Number)
  const wall = `${month}/${date}/${year}${seconds === 86_400 ? '' : ` ${hourOf(minute)}`}`
  const utc = new Date(instant * 1_000).toISOString().replace('.000', '')
  const stamp = stamps === 'wall' || seconds === 86_400 ? wall : utc
  return `${account},S,${meter},${stamp},${(thousandths / 1_000).toFixed(3)}`
}

/** Billing with the plans of its accounts. */
export function billingFilesOf(planted: readonly PlantedBill[]): Readonly<Record<string, string>> {
  const plans = planted.filter(({ plan }) => plan !== '')
  return {
    [named('Billing')]: file(
      'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate',
      planted.map(({ bill, last, quantity, cost, tax }) => {
        const days = `${bill.first},${last}`
        return `${bill.account},S,${bill.meter.meter},${days},${spelled(quantity)},,${spelled(cost)},${tax},`
      }),
    ),
    [named('PaymentPlans')]: file(
      'ContractAccount,PlanType,StartDate,EndDate,InstallmentAmount,Status',
      [...new Set(plans.map(({ bill, plan }) => `${bill.account},${plan}`))],
    ),
  }
}
