import { SingleBar } from 'cli-progress'
import { bytesText, grouped } from './table.js'

export interface Bar {
  /** Whether standard error is a terminal. */
  readonly isShown: boolean
  update(state: BarState): void
  stop(): void
}

export interface BarState {
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rowsLoaded: number
  readonly status: string
}

/** Width of the usual status; it comes first because a narrow terminal cuts off the end. */
const statusWidth = 11

/** A progress bar on standard error; does nothing if that is not a terminal. */
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
