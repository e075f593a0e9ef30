import { type RecordRow, recordFeed } from '../record-feed.js'
import { identifier, maybe, oneOf, words } from '../record-value.js'

/** All rate codes of the utility, with their kind and unit. */
export const rateCodes = recordFeed({
  name: 'RateCodes',
  view: 'rate_code',
  key: ['RateCode'],
  columns: {
    RateCode: identifier,
    Description: words,
    RateType: oneOf(['TOU', 'Tiered', 'Flat']),
    Commodity: maybe(oneOf(['Electric', 'Gas']), 'Electric'),
    UnitOfMeasure: maybe(oneOf(['kWh', 'Wh', 'ccf', 'cm', 'therm']), ''),
  },
  bracketed: ['Commodity', 'UnitOfMeasure'],
  fill: fillUnit,
  schedule: { set: 'rates' },
})

function fillUnit(row: RecordRow): RecordRow {
  if (row['UnitOfMeasure'] !== '') return row
  return { ...row, UnitOfMeasure: row['Commodity'] === 'Gas' ? 'ccf' : 'kWh' }
}
