import { SingleBar } from 'cli-progress'
import { bytesText, grouped } from './table.js'

export interface Bar {
  /** Whether somebody sees it. */
  readonly isShown: boolean
  /** `done` of `total` bytes, with rows loaded so far and some words on what is going on. */
  update(state: BarState): void
  stop(): void
}

export interface BarState {
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rowsLoaded: number
  readonly status: string
}

/** The usual words of a status; it stands first, so that a narrow terminal cuts off the rest. */
const statusWidth = 11

/** A progress bar on standard error where that is a terminal, nothing where it is not. */
export function createBar(): Bar {
  if (!process.stderr.isTTY)
    return { isShown: false, update: () => undefined, stop: () => undefined }
  const bar = new SingleBar({
    format: '  {status}  {bar} {percentage} %  {bytes}  {rows} rows',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    stream: process.stderr,
    autopadding: true,
    fps: 10,
  })
  bar.start(1, 0, { bytes: '', rows: 0, status: 'starting'.padEnd(statusWidth) })
  return {
    isShown: true,
    update: (state) => {
      bar.setTotal(Math.max(state.bytesTotal, 1))
      bar.update(Math.min(state.bytesDone, state.bytesTotal), {
        bytes: `${bytesText(state.bytesDone)} of ${bytesText(state.bytesTotal)}`,
        rows: grouped(state.rowsLoaded),
        status: state.status.padEnd(statusWidth),
      })
    },
    stop: () => bar.stop(),
  }
}
