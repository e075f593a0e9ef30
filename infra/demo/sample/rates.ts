import { addDays } from '../../../schemas/time/zone.js'

/** First day of the reads and prices of the sample. */
export const firstDay = '2025-10-01'
/** 13 months of reads, with both clock changes. */
export const days = 396
/** The last month comes in files of its own, as a utility sends them. */
export const lastMonth = '2026-10-01'

const holidays = {
  '2025-11-27': 'Thanksgiving Day',
  '2025-12-25': 'Christmas Day',
  '2026-01-01': "New Year's Day",
  '2026-05-25': 'Memorial Day',
  '2026-07-03': 'Independence Day (observed)',
  '2026-09-07': 'Labor Day',
} as const satisfies Record<string, string>

const newPrices = '2026-09-15'
const flat = { before: 0.1321, since: 0.1395 } as const
const tiers = { dailyLimit: 17, prices: [0.08723, 0.10662] } as const
const windows = {
  summer: { from: '--06-01', to: '--09-30', peak: 0.2134, offPeak: 0.1124 },
  winter: { from: '--10-01', to: '--05-31', peak: 0.1684, offPeak: 0.1043 },
  peakHours: [14, 19],
  weekend: 0.0987,
} as const
const gas = 0.4512
/** Of every rate, dollars a period. */
export const serviceCharge = 8.5
const taxPercent = 4

const rateCodes = ['RES-FLAT', 'RES-TIER', 'RES-TOU', 'GAS-FLAT'] as const

/** The files that describe rates and holidays, header first, by feed. */
export const rateFiles: Readonly<Record<string, readonly string[]>> = {
  RateCodes: [
    'RateCode,Description,RateType,Commodity,UnitOfMeasure',
    'RES-FLAT,Residential flat,Flat,Electric,kWh',
    'RES-TIER,Residential tiered,Tiered,Electric,kWh',
    'RES-TOU,"Residential, time of use",TOU,Electric,kWh',
    'GAS-FLAT,Residential gas,Flat,Gas,ccf',
  ],
  RateTou: [
    'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate,DayType,Component',
    ...[windows.summer, windows.winter].flatMap(({ from, to, peak, offPeak }) => {
      const [start, end] = windows.peakHours
      return [
        `RES-TOU,Peak,${peak},${start},${end},${from},${to},Weekday,Energy`,
        `RES-TOU,Off-Peak,${offPeak},${end},${start},${from},${to},Weekday,Energy`,
        `RES-TOU,Weekend,${windows.weekend},0,24,${from},${to},WeekendHoliday,Energy`,
      ]
    }),
  ],
  RateTiers: [
    'RateCode,Tier,DailyProrateFactor,Amount,RateStartDate,RateEndDate',
    `RES-TIER,1,${tiers.dailyLimit},${tiers.prices[0]},${firstDay},`,
    `RES-TIER,2,,${tiers.prices[1]},${firstDay},`,
  ],
  RateFlat: [
    'RateCode,Amount,RateStartDate,RateEndDate',
    `RES-FLAT,${flat.before},${firstDay},${addDays(newPrices, -1)}`,
    `RES-FLAT,${flat.since},${newPrices},`,
    `GAS-FLAT,${gas},${firstDay},`,
  ],
  RateFixed: [
    'RateCode,Name,Kind,Basis,Amount,Taxable,RateStartDate,RateEndDate',
    ...rateCodes.flatMap((code) => [
      `${code},Service charge,Service,PerPeriod,${serviceCharge},true,${firstDay},`,
      `${code},State tax,TaxPercent,Percent,${taxPercent},false,${firstDay},`,
    ]),
  ],
  Holidays: [
    'Date,Name,RateCode',
    ...Object.entries(holidays).map(([date, name]) => `${date},${name},`),
  ],
}

/** Dollars for one unit in an hour of a day; of the tiered rate, whose price depends on the sum, 0. */
export function priceAt(rateCode: string, { day, hour }: { day: string; hour: number }): number {
  if (rateCode === 'GAS-FLAT') return gas
  if (rateCode === 'RES-FLAT') return day < newPrices ? flat.before : flat.since
  if (rateCode !== 'RES-TOU') return 0
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay()
  if (weekday === 0 || weekday === 6 || day in holidays) return windows.weekend
  const month = day.slice(5, 7)
  const { peak, offPeak } = month >= '06' && month <= '09' ? windows.summer : windows.winter
  const [start, end] = windows.peakHours
  return hour >= start && hour < end ? peak : offPeak
}

/** What a bill comes to, cents rounded; `energy` are the dollars of the quantity by `priceAt`. */
export function billOf(
  rateCode: string,
  use: { readonly quantity: number; readonly energy: number; readonly days: number },
): { readonly cost: number; readonly tax: number } {
  const limit = tiers.dailyLimit * use.days
  const tiered =
    Math.min(use.quantity, limit) * tiers.prices[0] +
    Math.max(0, use.quantity - limit) * tiers.prices[1]
  const energy = cents(rateCode === 'RES-TIER' ? tiered : use.energy)
  const tax = cents(((energy + serviceCharge) * taxPercent) / 100)
  return { cost: cents(energy + serviceCharge + tax), tax }
}

/** Dollars of a quantity of the flat rate at the price before the change. */
export function atFormerPrice(quantity: number): number {
  return quantity * flat.before
}

/** Dollars of a quantity of gas. */
export function gasCost(quantity: number): number {
  return quantity * gas
}

export function cents(dollars: number): number {
  return Math.round(dollars * 100) / 100
}
