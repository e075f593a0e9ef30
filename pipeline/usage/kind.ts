import type { Commodity } from '../../schemas/feed.js'
import { lengthsOf } from '../../schemas/settings/profile.js'
import type { PipelineContext } from '../context.js'
import { learnStarts } from '../customers/registrations.js'
import type { Intake, Kind, Opened } from '../kind.js'
import { rulesOf } from '../load-task.js'
import {
  attach,
  countRows,
  createStaging,
  detach,
  emptyStaging,
  freeMerges,
  holdMerges,
  stagingOf,
} from '../store/staging.js'
import { keepStamps } from './bulk-path.js'
import { totalShapes } from './irregular-meters.js'
import { loadUsage } from './load.js'
import { measure } from './measure.js'
import { recordRestatements } from './overlap.js'
import { weighUsage } from './reconcile.js'
import { resolveRepeats } from './repeated-rows.js'
import { type Sample, sampleFile } from './sample.js'
import { createStampTexts, type StampTexts } from './timestamp-texts.js'
import { explainStamp } from './timestamps.js'

/** Reads of meters: millions of rows, which the engine judges. */
export const usageKind: Kind = {
  createStaging: (store, { arrival }) => createStaging(store, arrival),
  emptyStaging: (store, { arrival }) => emptyStaging(store, arrival),
  open,
  load: loadUsage,
  sumStaged: async ({ store }, { arrival, manifest }) => {
    const { reads, repeats } = stagingOf(arrival)
    const repeated = await countRows(store, repeats)
    if (repeated > 0) await store.command(resolveRepeats(arrival))
    const shapes = await totalShapes(store, reads, manifest.seconds)
    return { rows: shapes.rows, quantity: shapes.quantity, shapes, repeated }
  },
  weigh: async (line, files) => Promise.all(files.map((file) => weighUsage(line, file))),
  attach: async ({ store }, state) => {
    if (state.restates) {
      await store.command(recordRestatements(state.arrival))
      await store.command(holdMerges)
    }
    await attach(store, 'usage_read', state.attaches)
  },
  detach: async ({ store }, { arrival }) => {
    for (const statement of detach(arrival)) await store.command(statement)
  },
  release: async ({ store }, state) => {
    if (state.restates) await store.command(freeMerges)
  },
  learn: (line, state) => learnStarts(line, state.arrival),
  recount: () => (bytes) => {
    const { micros, ...counted } = measure(bytes, unseen)
    return { ...counted, micros: micros.toString() }
  },
}

const unseen: StampTexts = { see: () => undefined, hadRepeats: () => false, fresh: () => [] }

function open(context: PipelineContext, { arrival, feed, head }: Opened): Intake {
  const { usage } = context.profile
  let sample: Sample | undefined
  const reading = () => {
    const lengths = lengthsOf(context.profile, feed as Commodity)
    sample ??= sampleFile(head(), { ...usage, zone: context.zone }, lengths)
    return sample
  }
  let texts: StampTexts | undefined
  const stamps = () => {
    const rules = rulesOf(context, { feed, ...reading() })
    texts ??= createStampTexts((text) => explainStamp(text, rules))
    return texts
  }
  return {
    reading,
    measure: (bytes) => {
      const { micros, ...measured } = measure(bytes, stamps())
      return { ...measured, micros: micros.toString(), repeats: stamps().hadRepeats() }
    },
    prepare: () => keepStamps(context.store, arrival, stamps().fresh()),
  }
}
