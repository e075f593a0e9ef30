/** A customer with nothing left out, as the specification has the fields; changes replace some. */
export function sampleCustomer(changes: SampleChanges = {}): Record<string, unknown> {
  return {
    clientId: '7000000001',
    firstName: 'Ada',
    lastName: null,
    businessName: null,
    AcctStatus: 'A',
    customerSites: [{ ...sampleSite(), ...changes.site, meters: [sampleMeter(changes.meter)] }],
    ...changes.customer,
  }
}

export interface SampleChanges {
  readonly customer?: Readonly<Record<string, unknown>>
  readonly site?: Readonly<Record<string, unknown>>
  readonly meter?: Readonly<Record<string, unknown>>
}

export function sampleSite(): Record<string, unknown> {
  return {
    externalSiteId: '5113000001',
    isPrimary: true,
    firstName: 'Ada',
    lastName: 'Canary',
    address1: '1 Canary Street',
    city: 'Detroit',
    state: 'MI',
    postalCode: '48201',
  }
}

export function sampleMeter(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    accountNumber: '910020000001',
    meterId: '55000001',
    meterType: 'Electric',
    unitOfMeasure: 'kWh',
    isPrimary: true,
    isAMI: true,
    isAMR: false,
    PANID: 'A1B2',
    rateCode: 'RES-TOU',
    rateMultiplier: 1.5,
    billingCycleId: 7,
    dialCount: 4,
    ...changes,
  }
}

/** The record without one field, named by its path. */
export function without(value: unknown, path: readonly (string | number)[]): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (Array.isArray(value))
    return value.map((item, at) => (at === key ? without(item, rest) : item))
  const fields = Object.entries(value as object)
  return Object.fromEntries(
    rest.length === 0
      ? fields.filter(([name]) => name !== key)
      : fields.map(([name, item]) => [name, name === key ? without(item, rest) : item]),
  )
}
