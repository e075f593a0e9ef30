import {
  createSubmission,
  type Progress,
  type Submission,
} from '../../../pipeline/intake/submit.js'
import type { WaitCause } from '../../../pipeline/queues/wait.js'
import { Fault, faultCodes } from '../../../schemas/fault.js'
import type { Receipt } from '../../../schemas/receipt.js'
import type { InUse } from '../use-stack.js'
import { createBar } from './progress.js'

/** A file to load. */
export interface Arriving {
  readonly name: string
  readonly bytes: number
  /** Submits the file, or waits until it is received, and returns its arrival. */
  readonly arrive: (submission: Submission) => Promise<number>
}

/** A finished file. */
export interface Followed {
  readonly arrival: number
  readonly receipt: Receipt
}

/**
 * Follows files with one progress bar until each is finished, and reports why a file is waiting.
 * Returns the receipts in the order of the files.
 */
export async function followFiles(
  stack: InUse,
  files: readonly Arriving[],
  say: (text: string) => void,
): Promise<readonly Followed[]> {
  const { store, redisUrl, profile, home } = stack
  const { machine } = home
  const submission = await createSubmission({ store, redisUrl, profile, machine })
  const board = createBoard(files, say)
  try {
    return await Promise.all(
      files.map(async (file) => {
        const arrival = await file.arrive(submission)
        let receipt: Receipt | undefined
        for await (const state of submission.follow(arrival)) {
          board.update(file, state)
          receipt = state.receipt ?? receipt
        }
        if (receipt !== undefined) return { arrival, receipt }
        throw new Fault('STORE_REFUSED', `${file.name} ended without a receipt; see tieline status`)
      }),
    )
  } finally {
    board.stop()
    await submission.close()
  }
}

/** Words of the progress bar for a status. */
const words: Readonly<Record<string, string>> = { arrived: 'reading', received: 'loading' }

/** Adds up the progress of all files for one bar: each file by its share of loaded rows. */
function createBoard(
  files: readonly Arriving[],
  say: (text: string) => void,
): {
  update(file: Arriving, state: Progress): void
  stop(): void
} {
  const bar = createBar()
  const states = new Map<Arriving, Progress>()
  const bytesTotal = files.reduce((sum, file) => sum + file.bytes, 0)
  let said = ''
  return {
    update: (file, state) => {
      states.set(file, state)
      let bytesDone = 0
      let rowsLoaded = 0
      for (const [{ bytes }, one] of states) {
        bytesDone += bytes * shareDone(one)
        rowsLoaded += one.rowsLoaded
      }
      const { wait } = state
      const status = wait === undefined ? (words[state.status] ?? state.status) : briefly(wait)
      bar.update({ bytesDone: Math.round(bytesDone), bytesTotal, rowsLoaded, status })
      if (bar.isShown || wait === undefined || wait.code === said) return
      said = wait.code
      say(`${file.name} is waiting: ${wait.code}: ${wait.detail}`)
    },
    stop: bar.stop,
  }
}

/** A wait in one short line: the first sentence of the fault's meaning. */
function briefly({ code, since }: WaitCause): string {
  const [what = ''] = faultCodes[code].meaning.split('. ')
  return `waiting since ${since.toTimeString().slice(0, 8)}: ${what}`
}

/** Progress of a file, 0 to 1; its rows are unknown until it was read once. */
function shareDone(state: Progress): number {
  if (state.receipt !== undefined) return 1
  return state.rowsTotal ? Math.min(state.rowsLoaded / state.rowsTotal, 1) : 0
}
