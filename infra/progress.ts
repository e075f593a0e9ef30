import { SingleBar } from 'cli-progress'
import { bytesText, grouped } from './table.js'

export interface Bar {
  /** `done` of `total` bytes, with rows loaded so far and a word on what is going on. */
  update(state: BarState): void
  stop(): void
}

export interface BarState {
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rowsLoaded: number
  readonly status: string
}

/** A progress bar on standard error where that is a terminal, nothing where it is not. */
export function createBar(): Bar {
  if (!process.stderr.isTTY) return { update: () => undefined, stop: () => undefined }
  const bar = new SingleBar({
    format: '  {bar} {percentage} %  {bytes}  {rows} rows  {status}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    stream: process.stderr,
    autopadding: true,
    fps: 10,
  })
  bar.start(1, 0, { bytes: '', rows: 0, status: 'starting' })
  return {
    update: (state) => {
      bar.setTotal(Math.max(state.bytesTotal, 1))
      bar.update(Math.min(state.bytesDone, state.bytesTotal), {
        bytes: `${bytesText(state.bytesDone)} of ${bytesText(state.bytesTotal)}`,
        rows: grouped(state.rowsLoaded),
        status: state.status,
      })
    },
    stop: () => bar.stop(),
  }
}
