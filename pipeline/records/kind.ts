import { recordFeedOf } from '../../schemas/feed.js'
import type { RecordFeed } from '../../schemas/record-feed.js'
import { renewAll } from '../customers/registrations.js'
import { metersInRecords } from '../customers/stored-facts.js'
import type { Kind } from '../kind.js'
import type { FileState } from '../ledger/file-state.js'
import { isPublished } from '../ledger/publication.js'
import type { Store } from '../store/clickhouse.js'
import { dropStaging, putBack } from '../store/staging.js'
import { noteRepaired } from '../verify/repaired.js'
import { measuredColumns } from './judge.js'
import { loadRecords } from './load.js'
import { measureRecords } from './measure.js'
import { reconcileRecords } from './reconcile.js'
import { recordVersion } from './schedules.js'
import {
  attachRecords,
  countedOf,
  countRecords,
  createRecordStaging,
  keepAll,
  notePublishedRecords,
  rowsTable,
} from './store.js'

/** Rows of billing systems: the engine stores the plain ones, the schema of their feed judges the others. */
export const recordKind: Kind = {
  createStaging: (store, { arrival, feed }) => createRecordStaging(store, recordOf(feed), arrival),
  emptyStaging: async (store, { arrival, feed }) => {
    await dropStaging(store, arrival)
    await createRecordStaging(store, recordOf(feed), arrival)
  },
  open: ({ profile }, { feed, header, extraColumns }) => {
    const { rowBytesMax } = profile.limits
    const columns = { ...measuredColumns(recordOf(feed), header), rowBytesMax }
    return {
      measure: (bytes) => measureRecords(bytes, columns),
      rowFormat: () => ({ seconds: 0, format: null, columns: header, extraColumns }),
      prepare: async () => undefined,
    }
  },
  load: loadRecords,
  sumStaged: async ({ store }, state) => {
    const feed = recordOf(state.feed)
    return countRecords(store, feed, await keepAll(store, feed, state))
  },
  reconcile: reconcileRecords,
  attach: async ({ store }, states) => {
    for (const state of states) await attachOne(store, state)
  },
  isVisible: (store, { arrival }) => isPublished(store, arrival),
  learn: async (line, states) => {
    let hasRenewed = false
    for (const { feed: name, arrival, notes } of states) {
      const feed = recordOf(name)
      if (feed.shows === undefined) continue
      // Rows that a repair brings back have the versions of their own file.
      const of = notes.repairs ?? arrival
      const meters = await metersInRecords(line.store, { table: rowsTable(feed), arrival: of })
      await renewAll(line, meters)
      hasRenewed ||= meters.length > 0
    }
    return { warnings: new Map(), hasRenewed }
  },
  derive: async () => undefined,
}

async function attachOne(store: Store, state: FileState): Promise<void> {
  const feed = recordOf(state.feed)
  const { attaches: table } = state
  if (state.notes.repairs !== undefined) {
    await putBack(store, rowsTable(feed), table)
    return noteRepaired(store, state, countedOf(feed))
  }
  if (feed.schedule !== undefined) await store.command(recordVersion(feed, { ...state, table }))
  await store.command(notePublishedRecords(feed, state))
  await attachRecords(store, feed, table)
}

function recordOf(feed: string): RecordFeed {
  return recordFeedOf(feed) as RecordFeed
}
