import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from './engine.js'
import { onFreshLease } from './sessions.js'
import { stringLiteral } from './sql/statement.js'

/** Ends statements that nobody waits for, by their comments in `system.processes`. */
export interface StatementKiller {
  kill(comment: string): void
  /** The statement has ended. */
  forget(comment: string): void
}

/** A busy engine ends nothing sooner for more KILLs, and each blocks its front while it starts. */
const [firstMs, longestMs] = [50, 1_000]

/**
 * Repeats one KILL for all, because a statement may not have started when its client disconnects. The
 * pauses grow until another statement has to end.
 */
export function createStatementKiller(engine: Engine): StatementKiller {
  const doomed = new Set<string>()
  let pauseMs = firstMs
  let isRunning = false
  const run = async (): Promise<void> => {
    if (isRunning) return
    isRunning = true
    while (doomed.size > 0) {
      await killAll(engine, doomed).catch(() => undefined)
      await sleep(pauseMs)
      pauseMs = Math.min(2 * pauseMs, longestMs)
    }
    isRunning = false
  }
  return {
    kill: (comment) => {
      doomed.add(comment)
      pauseMs = firstMs
      void run()
    },
    forget: (comment) => void doomed.delete(comment),
  }
}

async function killAll(engine: Engine, comments: Iterable<string>): Promise<void> {
  const list = [...comments].map(stringLiteral).join(', ')
  const kill = `KILL QUERY WHERE Settings['log_comment'] IN (${list}) ASYNC`
  await onFreshLease(engine, (connection) => connection.query(kill, 'Null'))
}
