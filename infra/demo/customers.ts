import { draw } from './draw.js'

/** The three identifiers of a usage row, in the format of a CIS. */
export interface MeterReference {
  readonly accountNumber: string
  readonly externalSiteId: string
  readonly meterId: string
}

export interface DemoMeter extends MeterReference {
  readonly meterType: 'Electric' | 'Gas'
  readonly unitOfMeasure: 'kWh' | 'ccf'
  readonly rateCode: string
  readonly billingCycleId: string
}

export interface DemoCustomer {
  readonly clientId: string
  readonly accountNumber: string
  readonly externalSiteId: string
  readonly acctStatus: string
  readonly meters: readonly DemoMeter[]
}

const streams = { status: 1, gas: 2, rate: 3, cycle: 4 } as const
const rates = ['RES-FLAT', 'RES-TIER', 'RES-TOU'] as const
const cycleCount = 20

/**
 * The customers of the demo utility: one site each with an electric meter, three in four also with a
 * gas meter. The same seed gives the same customers; a larger count adds customers.
 */
export function demoCustomers(seed: number, count: number): readonly DemoCustomer[] {
  return Array.from({ length: count }, (_, index) => demoCustomer(seed, index))
}

/** Meters without customers, for files of any size; numbers start at `first`. */
export function numberedMeters(count: number, first = 0): readonly MeterReference[] {
  return Array.from({ length: count }, (_, index) => meterReference(first + index))
}

function demoCustomer(seed: number, index: number): DemoCustomer {
  const place = meterReference(index)
  const billingCycleId = String(1 + (draw(seed, streams.cycle, index) % cycleCount))
  const electric: DemoMeter = {
    ...place,
    meterType: 'Electric',
    unitOfMeasure: 'kWh',
    rateCode: rates[draw(seed, streams.rate, index) % rates.length] ?? rates[0],
    billingCycleId,
  }
  const gas: DemoMeter = {
    ...place,
    meterId: `G${place.meterId.slice(1)}`,
    meterType: 'Gas',
    unitOfMeasure: 'ccf',
    rateCode: 'GAS-FLAT',
    billingCycleId,
  }
  return {
    clientId: String(7_000_000_001 + index),
    accountNumber: place.accountNumber,
    externalSiteId: place.externalSiteId,
    acctStatus: draw(seed, streams.status, index) % 20 === 0 ? 'N' : 'A',
    meters: draw(seed, streams.gas, index) % 4 === 0 ? [electric] : [electric, gas],
  }
}

function meterReference(index: number): MeterReference {
  return {
    accountNumber: String(910_020_000_000 + index),
    externalSiteId: String(5_113_000_000 + index),
    meterId: String(55_000_000 + index),
  }
}
