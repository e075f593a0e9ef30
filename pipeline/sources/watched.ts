import { passingFault } from '../queues/wait.js'
import type { Source } from './source.js'

/** A source that reports once that listing it fails and why, and once that it works again. */
export function watched(source: Source, notify: (text: string) => void): Source {
  let reported: string | undefined
  return {
    ...source,
    list: async () => {
      try {
        const listed = await source.list()
        if (reported !== undefined) notify(`source ${source.name} responds again`)
        reported = undefined
        return listed
      } catch (error) {
        const fault = passingFault(error)
        if (fault !== undefined && fault.code !== reported) {
          notify(`source ${source.name} is failing: ${fault.code}: ${fault.detail}`)
          reported = fault.code
        }
        throw error
      }
    },
  }
}
