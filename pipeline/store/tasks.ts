import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { Fault } from '../../schemas/fault.js'
import { type Sql, sql } from './sql.js'

/** A statement that runs in the server, and for how long. */
export interface RunningStatement {
  readonly id: string
  readonly seconds: number
}

export interface Tasks {
  /** The id of the next statement, which begins with the name of the task that runs it. */
  nextId(): string
  /**
   * Runs a task, such as a job, under its name. Throws `STORE_UNREACHABLE`, so that it is tried again, while
   * a statement of an earlier run is not finished: a server goes on after its client has left or died.
   */
  run<T>(name: string, task: () => Promise<T>): Promise<T>
}

export function createTasks(
  scope: string,
  find: (statement: Sql) => Promise<readonly RunningStatement[]>,
): Tasks {
  const current = new AsyncLocalStorage<string>()
  return {
    nextId: () => `${current.getStore() ?? `${scope}:`}${randomUUID()}`,
    run: async (name, task) => {
      const prefix = `${scope}:${encodeURIComponent(name)}:`
      const [left] = await find(runningOf(prefix))
      if (left === undefined) return current.run(prefix, task)
      const detail = `statement ${left.id} of an earlier attempt still runs, for ${left.seconds} s`
      throw new Fault('STORE_UNREACHABLE', detail)
    },
  }
}

/** The embedded engine has the id of its client in `log_comment`. */
function runningOf(prefix: string): Sql {
  return sql`SELECT if(startsWith(query_id, ${prefix}), query_id, Settings['log_comment']) AS id,
      toUInt32(elapsed) AS seconds
    FROM system.processes WHERE startsWith(id, ${prefix})`
}
