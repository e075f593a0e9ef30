import { passingFault } from '../queues/wait.js'
import type { Source } from './source.js'

/** A source that reports once that listing it fails and why, and once that it works again. */
export function watched(source: Source, tell: (text: string) => void): Source {
  let told: string | undefined
  return {
    ...source,
    list: async () => {
      try {
        const listed = await source.list()
        if (told !== undefined) tell(`source ${source.name} responds again`)
        told = undefined
        return listed
      } catch (error) {
        const fault = passingFault(error)
        if (fault !== undefined && fault.code !== told) {
          tell(`source ${source.name} is failing: ${fault.code}: ${fault.detail}`)
          told = fault.code
        }
        throw error
      }
    },
  }
}
