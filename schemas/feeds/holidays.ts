import { recordFeed } from '../record-feed.js'
import { day, identifier, maybe, words } from '../record-value.js'

/** The days that count as holidays, for all rate codes or for one. */
export const holidays = recordFeed({
  name: 'Holidays',
  view: 'holiday',
  key: ['Date', 'RateCode'],
  columns: { Date: day, Name: words, RateCode: maybe(identifier, '') },
  bracketed: ['RateCode'],
  schedule: { set: 'rates', starts: 'Date', ends: 'Date' },
})
