import { passingFault } from '../queues/wait.js'
import type { Source } from './source.js'

/** A source that tells, once each, that it cannot be looked at, why, and that it can again. */
export function watched(source: Source, tell: (text: string) => void): Source {
  let told: string | undefined
  return {
    ...source,
    list: async () => {
      try {
        const listed = await source.list()
        if (told !== undefined) tell(`source ${source.name} is looked at again`)
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
