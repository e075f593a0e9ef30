/** Options of an import of one company. */
export const usual = {
  company: 'DEMO',
  fileDate: '2026-02-05',
  codes: new Map<string, string>(),
} as const

/** All hours of all months in one period. */
export const allHours = (period = 0) => Array.from({ length: 12 }, () => Array(24).fill(period))

/** Working days with period 1 from 16:00 to 21:00 in all months. */
export const evenings = () =>
  Array.from({ length: 12 }, () =>
    Array.from({ length: 24 }, (_, hour) => (hour >= 16 && hour < 21 ? 1 : 0)),
  )

/** An entry of the database with one price, except for what is given. */
export function entry(more: object = {}) {
  return {
    label: 'L1',
    name: 'Residential, single phase',
    startdate: Date.parse('2025-03-01T06:00:00Z') / 1_000,
    servicetype: 'Bundled',
    energyratestructure: [[{ rate: 0.1405, adj: 0.0003, unit: 'kWh' }]],
    energyweekdayschedule: allHours(),
    energyweekendschedule: allHours(),
    ...more,
  }
}
