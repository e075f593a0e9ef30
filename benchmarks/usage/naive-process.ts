import { peakMb } from '../memory.js'
import { loadNaively, type NaiveLoad } from './naive.js'

export interface NaiveAnswer {
  readonly seconds: number
  readonly peakMb: number
}

/** A process of its own, so that its memory is not counted as Tieline's. */
process.once('message', (request: NaiveLoad) => {
  void loadNaively(request).then((seconds) => {
    const answer: NaiveAnswer = { seconds, peakMb: peakMb(process.pid) ?? 0 }
    process.send?.(answer, () => process.disconnect())
  })
})
