import { faultCodes } from '../../../schemas/fault.js'
import { readStandingOf, type Standing } from '../../standing.js'
import { askQueues, type PanelSource } from './ask.js'

/** Files that wait or were refused, and servers that do not answer, each with what to do. */
export async function readHeld({ store, queues }: PanelSource): Promise<Standing> {
  const waits = () => askQueues(queues.waits())
  const standing = await readStandingOf({ store, queues: { waits } })
  const away = standing.away.map(({ code }) => ({ code, detail: faultCodes[code].meaning }))
  return { ...standing, away }
}
