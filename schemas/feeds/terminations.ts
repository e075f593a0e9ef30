import { recordFeed } from '../record-feed.js'
import { day, identifier, maybe, words } from '../record-value.js'

/** Accounts that were closed; without a meter all meters of the account are meant. */
export const terminations = recordFeed({
  name: 'Terminations',
  view: 'termination',
  key: ['ContractAccount', 'MeterID'],
  shows: 'ends',
  columns: {
    ContractAccount: identifier,
    ExternalSiteID: maybe(identifier, ''),
    MeterID: maybe(identifier, ''),
    TerminationDate: day,
    Reason: maybe(words, ''),
  },
})
