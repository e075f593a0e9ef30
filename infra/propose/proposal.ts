import { longestSeconds } from '../../pipeline/formats/green-button.js'
import { unitScale } from '../../pipeline/formats/scale.js'
import { Fault } from '../../schemas/fault.js'
import type { Commodity } from '../../schemas/feed.js'
import { createZone, daySeconds, type Zone } from '../../schemas/time/zone.js'
import { toColumns } from './columns.js'
import { type CsvFacts, proposeCsv } from './csv-proposal.js'
import { factsOf, type ProposedFeed } from './feeds.js'
import { createFindings, type Findings, type SettingFinding } from './finding.js'
import { findUnit } from './quantities.js'
import type { SentSample } from './sample.js'
import { toOneTable } from './table.js'
import { decideTimes, orderOf, type ProposalContext, toSeries } from './times/settings.js'
import { findLength, meterLengths } from './times/times.js'

/** What is proposed for the files of one feed, and what a person must answer first. */
export interface Proposal {
  readonly format: Exclude<SentSample['format'], 'xml'>
  /** Undefined while it is a question. */
  readonly feed: ProposedFeed | undefined
  readonly findings: readonly SettingFinding[]
  readonly notes: readonly string[]
}

export interface ProposalOptions {
  /** Answers of a person, by setting. */
  readonly answers: ReadonlyMap<string, string>
  /** That of a profile that exists. */
  readonly timeZone: string | undefined
}

/**
 * Finds how samples of one layout are to be read. What they do not show is an open question, never a guess.
 * Throws `CONFIG` for samples of several layouts and for formats that cannot be loaded.
 */
export function propose(
  samples: readonly SentSample[],
  { answers, timeZone }: ProposalOptions,
): Proposal {
  const [first] = samples as [SentSample, ...SentSample[]]
  const other = samples.find(({ format }) => format !== first.format)
  if (other !== undefined) {
    const detail = `${first.name} is ${first.format}, ${other.name} is ${other.format}: propose them one by one`
    throw new Fault('CONFIG', detail)
  }
  const format = loadable(first)
  const findings = createFindings(answers)
  const zoneBy = (evidence: string) => decideZone(findings, { known: timeZone, evidence })
  const facts = byFormat[format](samples, { findings, zoneBy })
  const feed = facts.feed ?? decideCommodity(samples, facts, findings)
  if (feed !== undefined) decideStored(facts, { feed, findings })
  findings.refuseUnused()
  return { format, feed, findings: findings.all, notes: findings.notes }
}

function loadable({ format, name }: SentSample): Proposal['format'] {
  if (format === 'xml') {
    throw new Fault(
      'CONFIG',
      `${name} is XML, but not a Green Button feed; export CSV, NEM12 or Green Button`,
    )
  }
  return format
}

function decideZone(
  findings: Findings,
  { known, evidence }: { readonly known: string | undefined; readonly evidence: string },
): Zone | undefined {
  const found = findings.decide('/timeZone', {
    value: known,
    evidence: known === undefined ? evidence : 'the profile',
    question: 'in which IANA time zone are the meters, such as America/Detroit?',
  })
  return typeof found === 'string' ? createZone(found) : undefined
}

type ByFormat = (samples: readonly SentSample[], options: ProposalContext) => CsvFacts

const byFormat: Readonly<Record<Proposal['format'], ByFormat>> = {
  tieline: proposePlain,
  csv: proposeCsv,
  nem12: proposeNem12,
  nem13: proposeNem13,
  'green-button': proposeGreenButton,
}

/** Settings of `usage` for files of the plain layout. */
function proposePlain(samples: readonly SentSample[], options: ProposalContext): CsvFacts {
  const { findings } = options
  const table = toOneTable(samples)
  if (table.yearDigits === 2) {
    const detail =
      'the plain layout has years of four digits, the samples have dates such as 1/31/26'
    throw new Fault('NO_ROWS', `${detail}: change the export, or give it a header of its own`)
  }
  const columns = toColumns(table)
  const [, , meter, time, quantity] = columns
  if (meter === undefined || time === undefined) throw new TypeError('the header has matched')
  const times = { time, timeOfDay: undefined, length: undefined }
  const order = orderOf(samples, times, findings)
  const series = toSeries(table, { times, meter: [meter], order })
  const length = findLength(series)
  decideTimes({ times, series, wide: undefined, length, rows: table.rows, order }, options)
  const values = quantity?.texts ?? []
  const unit = findings.decide('unit', findUnit({ column: undefined, names: [], values, length }))
  const lengths = length === undefined ? meterLengths(series) : [length]
  return { lengths, rows: table.rows.length, unit, text: '' }
}

/** Market time is that of Queensland all year; elsewhere files may have another. */
function decideOffset({ findings, zoneBy }: ProposalContext): void {
  const zone = zoneBy('no file states it')
  const market = 10 * 3_600
  const isMarket = zone?.standardOffsetSeconds(new Date().getUTCFullYear()) === market
  findings.decide('offset', {
    ...(isMarket && { value: '+10:00' }),
    evidence: isMarket
      ? 'the format has market time'
      : 'the format has market time, +10:00, but the zone is another or not known',
    question: 'which offset do the times of the files have: "+10:00", or that of your own market?',
  })
}

function recordsOf(samples: readonly SentSample[], kind: RegExp): readonly (readonly string[])[] {
  return samples.flatMap(({ lines }) =>
    lines.filter((line) => kind.test(line)).map((line) => line.split(',').map((one) => one.trim())),
  )
}

const different = (records: readonly (readonly string[])[], at: number) => [
  ...new Set(records.map((fields) => fields[at] ?? '')),
]

function proposeNem12(samples: readonly SentSample[], options: ProposalContext): CsvFacts {
  const { findings } = options
  decideOffset(options)
  const records = recordsOf(samples, /^"?200"?,/)
  const registers = [...new Set(different(records, 4).map((suffix) => suffix.toUpperCase()))]
  const generation = registers.filter((register) => register.startsWith('B'))
  findings.note(`registers: ${registers.join(', ')}; those that begin with E or B are loaded`)
  if (generation.length > 0)
    findings.note(`${generation.join(', ')} is loaded as generation, below 0`)
  const lengths = different(records, 8).map((minutes) => Number(minutes) * 60)
  const text = `electric ${different(records, 7).join(' ')}`
  return { lengths, rows: records.length, unit: undefined, text }
}

/** Billed periods: what a register counted between two reads. */
function proposeNem13(samples: readonly SentSample[], options: ProposalContext): CsvFacts {
  const { findings } = options
  decideOffset(options)
  const records = recordsOf(samples, /^"?250"?,/)
  const units = different(records, 19).join(', ')
  findings.note(`registers: ${different(records, 4).join(', ')} (${units})`)
  if (different(records, 7).includes('I'))
    findings.note('direction I is loaded as generation, below 0')
  return { lengths: [], rows: records.length, unit: undefined, text: '', feed: billed }
}

function proposeGreenButton(
  samples: readonly SentSample[],
  { findings, zoneBy }: ProposalContext,
): CsvFacts {
  zoneBy('the feed has instants')
  const text = samples.flatMap(({ lines }) => lines).join('\n')
  const commodities = [...text.matchAll(/<(?:\w+:)?commodity>(\d+)</g)].map(([, code]) => code)
  const kinds = [...text.matchAll(/ServiceCategory>\s*<(?:\w+:)?kind>(\d+)</g)].map(
    ([, kind]) => kind,
  )
  const isGas = commodities.includes('7') || kinds.includes('1')
  const isElectric =
    ['0', '1', '2'].some((code) => commodities.includes(code)) || kinds.includes('0')
  if (isGas && isElectric)
    findings.note('the feed has electricity and gas: each feed loads its own')
  const periods = durationsOf(text).map((seconds) => seconds > daySeconds + longestSeconds)
  const isBilled = periods.length > 0 && periods.every((isLong) => isLong)
  if (!isBilled && periods.includes(true))
    findings.note(
      'readings longer than a day are billed periods: the feed Billing loads them from the same file, with files.format.Billing: { name: green-button }',
    )
  const facts: Omit<CsvFacts, 'unit' | 'text'> = {
    lengths: [],
    rows: 0,
    ...(isBilled && { feed: billed }),
  }
  if (!isGas || isElectric) return { ...facts, unit: undefined, text: 'electric' }
  return { ...facts, unit: gasUnitOf(text), text: 'gas' }
}

/** The unit in which gas of a feed can be stored; undefined where it has several, or none that is known. */
function gasUnitOf(text: string): string | undefined {
  const codes = new Set([...text.matchAll(/<(?:\w+:)?uom>(\d+)</g)].map(([, code = '']) => code))
  const found = [...codes].flatMap((code) => gasUnitCodes[code] ?? [])
  return found.length === 1 ? found[0] : undefined
}

/** The lengths of readings, seconds: their own, where they have none those of their types. */
function durationsOf(text: string): readonly number[] {
  const readings = text.matchAll(
    /<(?:\w+:)?IntervalReading>(?:(?!IntervalReading>)[\s\S])*?<(?:\w+:)?duration>(\d+)</g,
  )
  const own = [...readings].map(([, seconds]) => Number(seconds))
  if (own.length > 0) return own
  return [...text.matchAll(/<(?:\w+:)?intervalLength>(\d+)</g)].map(([, seconds]) =>
    Number(seconds),
  )
}

/** The feed of files that have billed periods only. */
const billed = 'Billing' satisfies ProposedFeed
/** UnitSymbolKind of gas. */
const gasUnitCodes: Readonly<Record<string, string>> = { 42: 'cm', 119: 'ccf', 169: 'therm' }
const gasUnits = ['ccf', 'cm', 'therm']

function decideCommodity(
  samples: readonly SentSample[],
  { unit, text }: CsvFacts,
  findings: Findings,
): Commodity | undefined {
  const names = `${samples.map(({ name }) => name).join(' ')} ${text}`
  const isGas = /\bgas\b|natural gas|erdgas/i.test(names.replaceAll('_', ' '))
  const isElectric = /electri|strom|power|kwh/i.test(names)
  const byUnit = gasUnits.includes(String(unit)) ? 'Gas' : 'Electric'
  const known = typeof unit === 'string'
  const isClear = isGas !== isElectric || known
  const value = known && !(isGas && byUnit === 'Electric') ? byUnit : isGas ? 'Gas' : 'Electric'
  const found = findings.decide('/commodity', {
    ...(isClear && { value }),
    evidence: known ? `the unit is ${unit}` : 'names in the samples',
    question: 'are these Electric or Gas?',
  })
  if (found === 'Electric' || found === 'Gas') return found
  if (found === undefined) return undefined
  throw new Fault('CONFIG', `--answer /commodity=${found}: answer Electric or Gas`)
}

interface Stored {
  readonly feed: ProposedFeed
  readonly findings: Findings
}

/** What the profile must say of reads as they are stored. */
function decideStored({ unit, lengths }: CsvFacts, { feed, findings }: Stored): void {
  // Of billed periods, only the unit of gas is found.
  const { usual = factsOf('Gas').usual } = factsOf(feed)
  if (usual === undefined) return
  if (typeof unit === 'string' && unitScale(unit, usual.unit) === undefined) {
    findings.decide('/unit', { value: unit, evidence: 'reads are stored as they are sent' })
  }
  if (lengths.length === 0 || lengths.every((length) => usual.lengths.includes(length))) return
  const value = lengths.map((length) => (length === daySeconds ? 'day' : length))
  findings.decide('/intervals', { value, evidence: 'the lengths of the samples' })
}
