import type { Engine } from './engine.js'
import { onFreshLease } from './sessions.js'

/** What each running statement has read, as the value of `X-ClickHouse-Progress`, by its comment. */
type Figures = ReadonlyMap<string, string>

export interface Reports {
  /** Calls `report` while a statement runs, each time after an interval; returns what ends it. */
  watch(running: ReportedStatement): () => void
}

export interface ReportedStatement {
  /** By which `system.processes` knows the statement. */
  readonly comment: string
  readonly intervalMs: number
  report(figures: string): void
}

/**
 * Intervals grow with the time that a statement runs, so that ten minutes are some 60 headers of 200 bytes:
 * Node's clients take 16 KB. Proxies cut what is silent for 60 s.
 */
const intervalsMin = 8
const slowestMs = 30_000

const nothingYet = JSON.stringify({ read_rows: '0', read_bytes: '0', total_rows_to_read: '0' })

const query = `SELECT Settings['log_comment'] AS comment, toString(read_rows) AS read_rows,
  toString(read_bytes) AS read_bytes, toString(written_rows) AS written_rows,
  toString(written_bytes) AS written_bytes, toString(total_rows_approx) AS total_rows_to_read,
  '0' AS result_rows, '0' AS result_bytes, toString(toUInt64(elapsed * 1e9)) AS elapsed_ns,
  toString(greatest(memory_usage, 0)) AS memory_usage
FROM system.processes`

/** Asks the engine about all running statements at once, and never twice at the same time. */
export function createReports(engine: Engine): Reports {
  let pending: Promise<Figures> | undefined
  const figures = (): Promise<Figures> => {
    pending ??= figuresOf(engine).finally(() => {
      pending = undefined
    })
    return pending
  }
  return {
    watch: ({ comment, intervalMs, report }) => {
      const startedAt = Date.now()
      let timer: NodeJS.Timeout
      const wait = (): void => {
        const grown = Math.min((Date.now() - startedAt) / intervalsMin, slowestMs)
        timer = setTimeout(tick, Math.max(intervalMs, grown))
      }
      let isOver = false
      const tick = async (): Promise<void> => {
        const found = await figures().catch(() => undefined)
        if (isOver) return
        report(found?.get(comment) ?? nothingYet)
        wait()
      }
      wait()
      return () => {
        isOver = true
        clearTimeout(timer)
      }
    },
  }
}

async function figuresOf(engine: Engine): Promise<Figures> {
  const { bytes } = await onFreshLease(engine, (connection) =>
    connection.query(query, 'JSONEachRow'),
  )
  const lines = bytes.toString('utf8').split('\n').filter(Boolean)
  return new Map(
    lines.map((line) => {
      const { comment, ...figures } = JSON.parse(line) as Record<string, string>
      return [comment ?? '', JSON.stringify(figures)]
    }),
  )
}
