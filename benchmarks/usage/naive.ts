import { createReadStream } from 'node:fs'
import { createClient } from '@clickhouse/client'
import { parse } from 'fast-csv'
import type { StoreAddress } from '../../pipeline/store/clickhouse.js'

const batchRows = 50_000
const table = 'bench_naive'

export interface NaiveLoad {
  readonly path: string
  readonly store: StoreAddress
}

/**
 * What one would write first: fast-csv reads the file as objects, `@clickhouse/client` inserts them
 * as JSONEachRow in batches. No hash, no judgement, no ledger. Returns the seconds it took.
 */
export async function loadNaively({ path, store }: NaiveLoad): Promise<number> {
  const client = createClient(store)
  try {
    await client.command({ query: `DROP TABLE IF EXISTS ${table}` })
    await client.command({
      query: `CREATE TABLE ${table} (AccountNumber String, ExternalSiteID String, MeterID String,
        TimeStamp DateTime, TotalUnit Decimal(18, 6)) ENGINE = MergeTree
        ORDER BY (MeterID, TimeStamp)`,
    })
    const from = performance.now()
    let values: object[] = []
    const insert = async () => {
      await client.insert({
        table,
        values,
        format: 'JSONEachRow',
        clickhouse_settings: { date_time_input_format: 'best_effort_us' },
      })
      values = []
    }
    for await (const row of createReadStream(path).pipe(parse({ headers: true }))) {
      values.push(row as object)
      if (values.length === batchRows) await insert()
    }
    if (values.length > 0) await insert()
    const seconds = (performance.now() - from) / 1_000
    await client.command({ query: `DROP TABLE ${table} SYNC` })
    return seconds
  } finally {
    await client.close()
  }
}
