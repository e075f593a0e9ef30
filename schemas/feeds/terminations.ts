import { recordFeed } from '../record-feed.js'
import { day, identifier, maybe, words } from '../record-value.js'

/** Accounts that were closed, also at one premise or one meter; without them all of the account is meant. */
export const terminations = recordFeed({
  name: 'Terminations',
  view: 'termination',
  key: ['ContractAccount', 'ExternalSiteID', 'MeterID'],
  shows: 'ends',
  columns: {
    ContractAccount: identifier,
    ExternalSiteID: maybe(identifier, ''),
    MeterID: maybe(identifier, ''),
    TerminationDate: day,
    Reason: maybe(words, ''),
  },
})
