import { Fault } from '../../schemas/fault.js'
import type { Commodity } from '../../schemas/feed.js'
import type { GreenButtonSettings } from '../../schemas/settings/formats/green-button.js'
import type { QualityLetter } from '../../schemas/usage-row.js'
import type { BilledContext } from './format.js'
import { plainIdentifiers } from './plain-row.js'
import { multiplier, type Scale, unitScale } from './scale.js'

/** The addresses of an entry of a feed. */
export interface EspiEntry {
  readonly self: string
  readonly up: string
  readonly related: readonly string[]
}

/** A file has the reads of one commodity, or billed periods of both. */
export interface EspiContext extends BilledContext {
  readonly commodity?: Commodity
}

/** What a ReadingType says, by the names of its elements. */
export type ReadingType = ReadonlyMap<string, string>

/** The reads of one MeterReading: whose they are, and how their values are read. */
export interface SentSeries {
  readonly meter: string
  readonly identifiers: string
  readonly scale: Scale
  readonly isGeneration: boolean
  /** Of its costs: a number of ISO 4217, or empty. */
  readonly currency: string
  /** Of readings that state none. */
  readonly qualities: readonly string[]
  /** Where an interval does not state it, seconds. */
  readonly seconds: number
  /** Why its reads are not loaded, and counted only. */
  readonly left?: string
  /** Why its reads cannot be used. */
  readonly refused?: string
}

/** The MeterReadings of one file, each known once its ReadingType is. */
export interface EspiSeries {
  /** `service` is a ServiceKind, or empty. Where it matters, it must come before the readings. */
  addPoint(entry: EspiEntry, service: string): void
  addReading(entry: EspiEntry): void
  addType(entry: EspiEntry, type: ReadingType): void
  /** By the address of the MeterReading; undefined where it is not known yet. */
  find(address: string): SentSeries | undefined
}

/** UsagePoints, MeterReadings and ReadingTypes of a file that are kept in memory. */
const entriesMax = 100_000
const powerMax = 12

interface EspiUnit {
  readonly unit: string
  readonly commodity: Commodity
}

type StoredUnit = BilledContext['usage']['unit'][Commodity]

/** What UnitSymbolKind 72, 42, 119 and 169 measure; Wh and volumes of gas. */
const units: Readonly<Record<string, EspiUnit>> = {
  72: { unit: 'Wh', commodity: 'Electric' },
  42: { unit: 'cm', commodity: 'Gas' },
  119: { unit: 'cubic feet', commodity: 'Gas' },
  169: { unit: 'therm', commodity: 'Gas' },
}
/** CommodityKind: electricity behind and before a transformer, and natural gas. */
const commodities: Readonly<Record<string, Commodity>> = { 1: 'Electric', 2: 'Electric', 7: 'Gas' }
/** ServiceKind of electricity and of gas. */
const services: Readonly<Record<string, Commodity>> = { 0: 'Electric', 1: 'Gas' }
/** FlowDirectionKind; a series that states none is taken for delivered energy. */
const flows: Readonly<Record<string, string>> = {
  '': 'forward',
  1: 'forward',
  4: 'net',
  19: 'reverse',
}
/** AccumulationKind 4: what was used in the interval. */
const deltaData = '4'
/** QualityOfReading: estimated in one of two ways, edited by hand, and a forecast. */
const estimated: readonly string[] = ['8', '9']
const edited = '7'
export const forecast = '12'

function isEstimated(quality: string): boolean {
  return estimated.includes(quality)
}

/** The quality of a reading with these codes. */
export function espiLetter(qualities: readonly string[]): QualityLetter {
  if (qualities.some(isEstimated)) return 'E'
  return qualities.includes(edited) ? 'S' : ''
}

export function createSeries(settings: GreenButtonSettings, context: EspiContext): EspiSeries {
  const points = new Map<string, string>()
  const readings = new Map<string, EspiEntry>()
  const types = new Map<string, ReadingType>()
  const known = new Map<string, SentSeries>()
  const refuseMany = () => {
    if (points.size + readings.size + types.size < entriesMax) return
    const detail = `more than ${entriesMax} entries UsagePoint, MeterReading and ReadingType; split the file`
    throw new Fault('HEADER', detail)
  }
  return {
    addPoint: (entry, service) => {
      refuseMany()
      points.set(entry.self, service)
    },
    addReading: (entry) => {
      refuseMany()
      readings.set(entry.self, entry)
    },
    addType: (entry, type) => {
      refuseMany()
      types.set(entry.self, type)
    },
    find: (address) => {
      const found = known.get(address)
      if (found !== undefined) return found
      const type = readings
        .get(address)
        ?.related.map((href) => types.get(href))
        .find(Boolean)
      if (type === undefined) return undefined
      const service = points.get(address.replace(/\/MeterReading\/[^/]+$/, '')) ?? ''
      const series = toSeries(address, type, { settings, context, service })
      known.set(address, series)
      return series
    },
  }
}

interface Reading {
  readonly settings: GreenButtonSettings
  readonly context: EspiContext
  /** Of its UsagePoint; empty where it is not known. */
  readonly service: string
}

function toSeries(
  address: string,
  type: ReadingType,
  { settings, context, service }: Reading,
): SentSeries {
  const [, usagePoint, meterReading = ''] =
    /(?:^|\/)UsagePoint\/([^/]+)\/MeterReading\/([^/]+)$/.exec(address) ?? []
  const code = (name: string) => type.get(name) ?? ''
  const flow = flows[code('flowDirection')]
  const fill = (template: string) =>
    template
      .replaceAll('{usagePoint}', usagePoint ?? '')
      .replaceAll('{meterReading}', meterReading)
      .replaceAll('{flow}', flow ?? '')
  const meter = fill(settings.meter)
  const { account, site, generation } = settings
  const series = {
    meter,
    identifiers: plainIdentifiers({ account: fill(account), site: fill(site), meter }),
    scale: (text: string) => text,
    isGeneration: flow === 'reverse' && generation === 'negative',
    currency: code('currency'),
    qualities: [code('defaultQuality')],
    seconds: Number(/^\d{1,9}$/.exec(code('intervalLength'))?.[0] ?? 0),
  }
  const shown = (name: string) => `${name} ${code(name).slice(0, 20) || 'missing'}`
  const measured = units[code('uom')]
  const accumulation = code('accumulationBehaviour')
  if (measured === undefined || !isWanted(measured.commodity, context)) {
    return { ...series, left: `of ${shown('uom')}` }
  }
  const commodity = code('commodity')
  // 0 says that none applies.
  const isStated = commodity !== '' && commodity !== '0'
  if (isStated && commodities[commodity] !== measured.commodity) {
    return { ...series, left: `of ${shown('commodity')}` }
  }
  if (!isStated && service !== '' && services[service] !== measured.commodity) {
    return { ...series, left: `of a UsagePoint of service ${service.slice(0, 20)}` }
  }
  if (accumulation !== '' && accumulation !== deltaData) {
    return { ...series, left: `of ${shown('accumulationBehaviour')}` }
  }
  if (flow === undefined) return { ...series, left: `of ${shown('flowDirection')}` }
  if (usagePoint === undefined) {
    return { ...series, refused: 'the address of its MeterReading names no UsagePoint' }
  }
  const stored = context.usage.unit[measured.commodity]
  const scale = scaleOf(measured, code('powerOfTenMultiplier'), stored)
  return typeof scale === 'string' ? { ...series, refused: scale } : { ...series, scale }
}

function isWanted(commodity: Commodity, context: EspiContext): boolean {
  return context.commodity === undefined || context.commodity === commodity
}

/** Turns values into the stored unit, or says why they cannot be turned. */
function scaleOf({ unit, commodity }: EspiUnit, power: string, stored: StoredUnit): Scale | string {
  const ten = Number(power)
  if (!/^[+-]?\d{0,2}$/.test(power) || Math.abs(ten) > powerMax) {
    return `powerOfTenMultiplier ${power.slice(0, 20)} is not a number from -${powerMax} to ${powerMax}`
  }
  const byPower = multiplier(ten < 0 ? `.${'1'.padStart(-ten, '0')}` : `1${'0'.repeat(ten)}`)
  const isFeet = unit === 'cubic feet'
  const toStored = unitScale(isFeet ? 'ccf' : unit, stored)
  if (toStored === undefined)
    return `${unit} cannot be converted to ${stored}, the unit of ${commodity}`
  const toUnit = multiplier(isFeet ? '0.01' : '1')
  return (text) => toStored(toUnit(byPower(text)))
}
