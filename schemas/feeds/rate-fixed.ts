import { recordFeed } from '../record-feed.js'
import {
  day,
  identifier,
  inOrder,
  maybe,
  oneOf,
  price,
  problem,
  type RowJudge,
  words,
} from '../record-value.js'

const dollars = ['PerPeriod', 'PerDay', 'PerMonth']
const bases = [...dollars, 'PerUnit', 'Percent']

/** Of kinds that cannot have every basis, those that they can have. */
const basesOf: Readonly<Record<string, readonly string[]>> = {
  TaxPercent: ['Percent'],
  TaxAmount: [...dollars, 'PerUnit'],
  Minimum: dollars,
}

/** A row is charged by its basis, so one of another kind would charge dollars for percents. */
const hasBasisOfKind: RowJudge = ({ Kind: kind, Basis: basis }) => {
  const known = basesOf[kind ?? ''] ?? bases
  if (known.includes(basis ?? '')) return undefined
  return { ...problem('NOT_LISTED', ` ${known.join(', ')} for ${kind}`), column: 'Basis' }
}

/** What a bill has in addition to energy: fees, taxes, program charges, credits, a minimum. */
export const rateFixed = recordFeed({
  name: 'RateFixed',
  view: 'rate_fixed',
  key: ['RateCode', 'Name', 'RateStartDate'],
  columns: {
    RateCode: identifier,
    Name: words,
    Kind: oneOf(['Service', 'Facility', 'TaxPercent', 'TaxAmount', 'Program', 'Credit', 'Minimum']),
    Basis: oneOf(bases),
    Amount: price,
    Taxable: oneOf(['true', 'false']),
    RateStartDate: day,
    RateEndDate: maybe(day),
  },
  rules: [inOrder('RateStartDate', 'RateEndDate'), hasBasisOfKind],
  schedule: { set: 'rates', starts: 'RateStartDate', ends: 'RateEndDate', code: 'RateCode' },
})
