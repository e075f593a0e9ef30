import { groupedNumber, hasSign } from '../../pipeline/formats/csv/decimal.js'
import { type Column, toReference } from './columns.js'
import type { Findings, Shown } from './finding.js'
import { nameOf } from './times/columns.js'
import { columnWords, toWord, unitTexts } from './words.js'

/** Numbers whose last sign can only be the decimal sign, or which have several groups of thousands. */
const provenBy = {
  ',': /^[+-]?\d{1,3}((\.\d{3})+,\d+|(\.\d{3}){2,})$/,
  '.': /^[+-]?\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,})$/,
} as const

/** The decimal sign of numbers; undefined where they do not prove it. */
export function findDecimal(sent: readonly string[], delimiter: string): Shown {
  const texts = sent.map((text) => text.replace(/^\u2212|['\u2019\s]/g, ''))
  const commas = texts.filter((text) => /^[+-]?\d*,\d+$/.test(text))
  const points = texts.filter((text) => /^[+-]?\d*\.\d+$/.test(text))
  const isProof = (text: string) => !/^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(text)
  const byComma = texts.find((text) => provenBy[','].test(text)) ?? commas.find(isProof)
  const byPoint = texts.find((text) => provenBy['.'].test(text)) ?? points.find(isProof)
  if (byComma !== undefined && byPoint !== undefined) {
    const question = `which is the decimal sign ("." or ",")? Numbers with the other one are rejected`
    return { evidence: `numbers such as ${byComma} and ${byPoint}`, question }
  }
  const proof = byComma ?? byPoint
  if (proof !== undefined) {
    return { value: byComma === undefined ? '.' : ',', evidence: `numbers such as ${proof}` }
  }
  const [example] = points.length > 0 ? points : commas
  if (example === undefined) return { value: '.', evidence: 'no number has decimals' }
  if (delimiter === ',' && commas.length === 0 && points.some((text) => text.startsWith('0'))) {
    return { value: '.', evidence: `numbers such as ${example}` }
  }
  return { evidence: `numbers such as ${example}`, question: separating(example) }
}

function separating(example: string): string {
  const [sign, other, name] = example.includes(',') ? [',', '.', 'comma'] : ['.', ',', 'point']
  return `is the ${name} in ${example} the decimal sign? Answer "${sign}"; or "${other}" if it separates thousands`
}

/** The sign that separates thousands, where all numbers that have it are in groups of three digits. */
export function findThousands(texts: readonly string[], decimal: unknown): Shown {
  const evidence = 'no number has a separator of thousands'
  if (decimal !== '.' && decimal !== ',') return { evidence }
  for (const sign of ['.', ',', "'", ' '] as const) {
    const having = sign === decimal ? [] : texts.filter((text) => hasSign(text, sign))
    const [example] = having
    if (example !== undefined && having.every((text) => groupedNumber(sign, decimal).test(text)))
      return { value: sign, evidence: `numbers such as ${example}` }
  }
  return { evidence }
}

function isOtherWay({ word }: Column): boolean {
  return columnWords.otherWay.test(word)
}

/** Columns of numbers that may be quantities. */
function amountsOf(columns: readonly Column[], taken: ReadonlySet<Column>): readonly Column[] {
  return columns.filter(
    (one) =>
      one.kind === 'number' &&
      (one.texts.length > 1 || columnWords.energy.test(one.word) || isOtherWay(one)) &&
      !taken.has(one) &&
      !columnWords.otherNumber.test(one.word) &&
      !columnWords.meter.test(one.word) &&
      !columnWords.account.test(one.word) &&
      !columnWords.site.test(one.word),
  )
}

/** Finds the column of the quantity; undefined while it is a question. */
export function findQuantity(
  columns: readonly Column[],
  taken: ReadonlySet<Column>,
  findings: Findings,
): unknown {
  const numbers = amountsOf(columns, taken)
  const energy = numbers.filter((one) => columnWords.energy.test(one.word) && !isOtherWay(one))
  const decimals = numbers.filter(({ texts }) => texts.some((text) => /\d[.,]\d/.test(text)))
  const isUnnamed = columns.every(({ name }) => name === '')
  const unnamed = isUnnamed && decimals.length > 0 ? decimals : numbers
  // A weak name among other numbers shows nothing.
  const candidates = energy.length > 0 ? energy : unnamed
  const [only] = candidates
  const isSure = candidates.length === 1 && only !== undefined
  const choices = candidates.slice(0, choicesMax).map(nameOf).join(' or ')
  return findings.decide('columns.quantity', {
    value: isSure ? toReference(only, columns) : undefined,
    evidence: isSure
      ? only.name === ''
        ? 'the only column of decimal numbers'
        : `${energy.length > 0 ? 'its name; ' : ''}no other column of numbers is a quantity`
      : `${candidates.length} columns may be the quantity`,
    question:
      candidates.length === 0
        ? 'which column has the quantity of the interval?'
        : candidates.length > choicesMax
          ? `which column has the quantity: ${choices}, or others? If they are the values of a day, side by side, add --answer 'columns.values={from: NAME, count: N}'; if other columns are between them, export them without these`
          : `which column has the quantity of the interval: ${choices}? Others are not loaded`,
  })
}

/** More columns than a person chooses from. */
const choicesMax = 8

interface ReceivedQuestion {
  readonly columns: readonly Column[]
  readonly taken: ReadonlySet<Column>
  /** The column of the quantity; undefined while it is a question, and in wide files. */
  readonly quantity: Column | undefined
}

/** Finds the column of energy to the grid beside the quantity. Whether it is to be subtracted is a question. */
export function findReceived(
  { columns, taken, quantity }: ReceivedQuestion,
  findings: Findings,
): Column | undefined {
  const others = amountsOf(columns, taken).filter((one) => isOtherWay(one) && one !== quantity)
  const [first] = others
  if (quantity === undefined || first === undefined) {
    findings.decide('columns.received', { evidence: 'no column has energy to the grid' })
    return undefined
  }
  const answer = `{column: ${JSON.stringify(toReference(first, columns))}}`
  const units = [quantity, first].map(({ name }) => unitIn(name))
  const remarks = [
    ...(first.isAlwaysThere ? [] : ['add emptyIsZero: true if an empty field means 0']),
    ...(first.texts.some((text) => text.startsWith('-')) ? ['negative ones are rejected'] : []),
    ...(units[0] === units[1] ? [] : ['both must have one unit']),
  ]
  const remark = remarks.map((text) => `; ${text}`).join('')
  const decided = findings.decide('columns.received', {
    evidence: `${others.map(nameOf).join(' and ')} beside ${nameOf(quantity)}`,
    question: `is it the energy to the grid of the same meter? Answer ${answer} to subtract it${remark}; or none, then it is not loaded`,
  })
  const { column } = (decided ?? {}) as { readonly column?: unknown }
  return columns.find((one) => toReference(one, columns) === column)
}

/** The unit that a name has as one of its words. */
function unitIn(name: string): string | undefined {
  const words = toWord(name).split(' ')
  return words.find((word) => word in unitTexts || word in otherUnits)
}

/** Units that measure no energy of an interval, and what to do. */
const otherUnits: Readonly<Record<string, string>> = {
  kw: 'kW is an average power: answer kWh, and a multiplier of the length in hours',
  w: 'W is an average power: answer Wh, and a multiplier of the length in hours',
  kvarh: 'kvarh is reactive energy, which is not loaded: remove these rows from the export',
  gj: 'GJ cannot be stored: convert the export to therm, ccf or cm',
}

export interface UnitQuestion {
  /** Lines above the header. */
  readonly preamble?: readonly string[]
  /** The column of units, if there is one. */
  readonly column: Column | undefined
  /** Names of the columns with quantities. */
  readonly names: readonly string[]
  /** Texts of quantities. */
  readonly values: readonly string[]
  /** Seconds; undefined where the rows show none. */
  readonly length: number | undefined
}

/** The different units in the column of units. */
export function statedBy(column: Column | undefined): readonly string[] {
  return [...new Set(column?.texts.map((text) => text.toLowerCase().replace('³', '3')))]
}

/** The unit of the quantities, with what they are multiplied by. */
export function findUnit(question: UnitQuestion): Shown & { readonly multiplier?: number } {
  const { column, names } = question
  const stated = statedBy(column)
  if (stated.length > 1) {
    const all = stated.join(', ')
    return {
      evidence: `${nameOf(column as Column)} has ${all}`,
      question: `which unit? Rows of different units cannot be loaded together: ${all}`,
    }
  }
  const found = stated[0] ?? names.map(unitIn).find((unit) => unit !== undefined)
  const known = found === undefined ? undefined : unitTexts[found]
  const from = stated.length > 0 ? nameOf(column as Column) : 'the name of the column'
  if (known !== undefined) {
    const [value, multiplier] = known
    return { value, evidence: `${from} has ${found}`, ...(multiplier !== 1 && { multiplier }) }
  }
  if (found !== undefined) {
    const evidence = `${from} has ${found}`
    return {
      evidence,
      question: otherUnits[found] ?? `which unit is ${found}: kWh, Wh, MWh, ccf, cm or therm?`,
    }
  }
  const above = (question.preamble ?? []).flatMap((line) => line.split(/[,;|\t]/))
  const hint = above.map((cell) => cell.trim().toLowerCase()).find((cell) => cell in otherUnits)
  if (hint !== undefined) {
    return {
      evidence: `the lines above the header have ${hint}`,
      question: otherUnits[hint] as string,
    }
  }
  return { evidence: plausible(question), question: 'which unit: kWh, Wh, MWh, ccf, cm or therm?' }
}

export function isOfMultipliers({ kind, word }: Column): boolean {
  return kind === 'number' && columnWords.multiplier.test(word)
}

/** The multiplier of the settings. What a column of multipliers means is a question. */
export function findMultiplier(columns: readonly Column[], ofUnit: number | undefined): Shown {
  const column = columns.find(isOfMultipliers)
  const numbers = column?.texts.map((text) => Number(text.replace(',', '.')))
  const factors = new Set(numbers?.filter(Number.isFinite))
  const [factor = 1] = factors
  if (column === undefined || (factors.size === 1 && factor === 1))
    return { value: ofUnit, evidence: 'to the unit above' }
  const evidence = `${nameOf(column)} has ${[...factors].slice(0, choicesMax).join(', ')}`
  const already = `${ofUnit ?? 'none'} if they are multiplied already`
  if (factors.size > 1) {
    const question = `rows of different multipliers: answer ${already}; otherwise export the products`
    return { evidence, question }
  }
  const product = Number((factor * (ofUnit ?? 1)).toPrecision(12))
  return {
    evidence,
    question: `are the quantities to be multiplied? Answer ${product}, or ${already}`,
  }
}

const hour = 3_600

function plausible({ values, length }: UnitQuestion): string {
  const numbers = values
    .map((text) => Math.abs(Number(text.replace(',', '.'))))
    .filter(Number.isFinite)
  const sorted = numbers.filter((one) => one > 0).sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)]
  if (median === undefined) return 'nothing names a unit'
  const hourly = length === undefined ? median : (median * hour) / length
  const hint = hourly > 50 ? 'Wh of households' : 'kWh of households'
  return `nothing names a unit; the median is ${median}, plausible as ${hint}`
}

const growingRows = 24

/** Whether the quantities of every meter with enough rows never fall: then they are readings of a register. */
export function isRegister(quantities: readonly (readonly number[])[]): boolean {
  const long = quantities.filter((values) => values.length >= growingRows)
  if (long.length === 0) return false
  return long.every((values) => {
    const rises = values.filter((value, at) => at > 0 && value > (values[at - 1] as number)).length
    const falls = values.filter((value, at) => at > 0 && value < (values[at - 1] as number)).length
    return falls === 0 && rises > values.length / 4
  })
}
