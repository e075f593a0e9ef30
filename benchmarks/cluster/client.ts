import type { Settings, Store } from '../../pipeline/store/clickhouse.js'
import type { Replica, Replicas } from '../../test/rig/replicas/start.js'
import { statementText } from '../../test/rig/statements/statement-text.js'

/** What happens around the statements of a client. */
export interface Around {
  /**
   * Before a statement; an error of it is that of a statement that was not carried out. Returns settings with
   * which a statement that writes is sent.
   */
  before(text: string): Promise<Settings | undefined>
  /** After a statement that wrote; an error of it hides that the statement was carried out. */
  after(text: string): Promise<void>
  /** After a statement of any outcome that may have written. */
  look(text: string): Promise<void>
  /** Each time that a statement has taken `patienceMs` longer. */
  slow(): Promise<void>
  patienceMs(text: string): number
}

export interface MovableClient {
  /** The store of whichever replica the client is connected to. */
  readonly store: Store
  current(): Replica
  failOver(): void
}

/** A store whose client can be pointed to the other replica before any statement. */
export function createClient({ stores }: Pick<Replicas, 'stores'>, around: Around): MovableClient {
  let current: Replica = 'r1'
  const write = async <T>(
    text: string,
    run: (store: Store, more: Settings | undefined) => Promise<T>,
  ): Promise<T> => {
    const more = await around.before(text)
    const timer = setInterval(() => void around.slow(), around.patienceMs(text))
    try {
      const done = await run(stores[current], more)
      await around.after(text)
      return done
    } finally {
      clearInterval(timer)
      await around.look(text)
    }
  }
  const read = async <T>(text: string, run: (store: Store) => Promise<T>): Promise<T> => {
    await around.before(text)
    return run(stores[current])
  }
  return {
    current: () => current,
    failOver: () => {
      current = current === 'r1' ? 'r2' : 'r1'
    },
    store: {
      get address() {
        return stores[current].address
      },
      rows: (statement) => read(statementText(statement), (store) => store.rows(statement)),
      stream: (statement, format) =>
        read(statementText(statement), (store) => store.stream(statement, format)),
      command: (statement, body) =>
        write(statementText(statement), (store, more) =>
          store.command({ ...statement, settings: { ...statement.settings, ...more } }, body),
        ),
      insert: (table, values, settings) =>
        write(`INSERT INTO ${table}`, (store, more) =>
          store.insert(table, values, { ...settings, ...more }),
        ),
      ping: () => stores[current].ping(),
      runTask: (name, task) => stores[current].runTask(name, task),
      close: async () => undefined,
    },
  }
}
