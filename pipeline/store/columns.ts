/** A value of a record and the column, or columns, that hold it in JSONEachRow. */
export interface Cell<V> {
  write(name: string, value: V): Row
  read(name: string, row: Row): V
}

/** A row as JSONEachRow has it: snake_case, 64-bit integers and decimals as strings. */
export type Row = Readonly<Record<string, unknown>>

export interface Codec<T> {
  toRow(record: T): Row
  /** Ignores columns that the record does not have. */
  fromRow(row: Row): T
}

/** Writes and reads records; each key is the column of the same name in snake_case. */
export function createCodec<T extends object>(
  columns: {
    readonly [K in keyof T]-?: Cell<T[K]>
  },
): Codec<T> {
  const { write, read } = group(columns)
  return { toRow: (record) => write('', record), fromRow: (row) => read('', row) }
}

/** A record within a record: its columns have the name of its key as a prefix. */
export function group<T extends object>(
  columns: {
    readonly [K in keyof T]-?: Cell<T[K]>
  },
): Cell<T> {
  const all = (Object.keys(columns) as (keyof T & string)[]).map((key) => ({
    key,
    name: key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    column: columns[key],
  }))
  const within = (prefix: string, name: string) => (prefix === '' ? name : `${prefix}_${name}`)
  return {
    write: (prefix, record) =>
      Object.assign(
        {},
        ...all.map(({ key, name, column }) => column.write(within(prefix, name), record[key])),
      ),
    read: (prefix, row) =>
      Object.fromEntries(
        all.map(({ key, name, column }) => [key, column.read(within(prefix, name), row)]),
      ) as T,
  }
}

function single<V>(to: (value: V) => unknown, from: (cell: unknown) => V): Cell<V> {
  return {
    write: (name, value) => ({ [name]: to(value) }),
    read: (name, row) => from(row[name]),
  }
}

/** What JSON has as it is: strings, decimals, flags, integers of at most 32 bits. */
export function plain<V extends string | number | boolean>(): Cell<V> {
  return single<V>(
    (value) => value,
    (cell) => cell as V,
  )
}

/** An integer, of 64 bits too. */
export const integer: Cell<number> = single(Math.trunc, Number)

export const dateTime: Cell<Date> = single(
  (value) => value.toISOString(),
  (cell) => toInstant(String(cell)),
)

export function json<V>(): Cell<V> {
  return single<V>(JSON.stringify, (cell) => JSON.parse(String(cell)) as V)
}

/** A nullable column. */
export function optional<V>({ write, read }: Cell<V>): Cell<V | undefined> {
  return {
    write: (name, value) => (value === undefined ? { [name]: null } : write(name, value)),
    read: (name, row) => (row[name] === null ? undefined : read(name, row)),
  }
}

/** A DateTime as the engine writes it, in UTC. */
export function toInstant(text: string): Date {
  return new Date(`${text.replace(' ', 'T')}Z`)
}

/** An instant as the engine writes it: `2026-03-01 05:00:00.000`, UTC. */
export function toClickHouseTime(at: Date | number): string {
  return new Date(at).toISOString().replace('T', ' ').replace('Z', '')
}
