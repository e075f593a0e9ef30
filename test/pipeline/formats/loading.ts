import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type BadRow, type Checked, check, toEntries } from '../../../pipeline/check.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { toReceipt } from '../../../pipeline/ledger/receipt.js'
import { sentLine, sentText } from '../../../pipeline/ledger/rejects-files.js'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sql } from '../../../pipeline/store/sql.js'
import { isOfFile } from '../../../pipeline/store/versions.js'
import type { Receipt } from '../../../schemas/receipt.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createLineByHand } from '../by-hand.js'
import { profileWith, type Setting } from './convert.js'

/** What a receipt says of the file itself, not of when it came. */
export type Verdict = Omit<Receipt, 'receivedAt' | 'publishedAt' | 'seconds'>

/** What a check or a load makes of a file. */
export interface Judged {
  readonly verdict: Verdict
  readonly badRows: readonly BadRow[]
}

/** The reads of a meter that a file brought. */
export interface LoadedMeter {
  readonly meter: string
  readonly seconds: number
  readonly reads: number
  readonly sum: string
  readonly firstDay: string
  readonly lastDay: string
}

/** A row of `billing_period`. */
export interface LoadedPeriod {
  readonly account: string
  readonly meter: string
  readonly first: string
  readonly last: string
  readonly quantity: string
  readonly cost: string | null
  readonly quality: string
}

export interface Loader {
  check(file: Buffer, setting: Setting): Promise<Judged>
  load(file: Buffer, setting: Setting): Promise<Judged & { readonly meters: LoadedMeter[] }>
  /** The billed periods of the meters whose names begin so. */
  periods(meters: string): Promise<readonly LoadedPeriod[]>
}

const badRowsMax = 1_000

function toVerdict({ receivedAt: _r, publishedAt: _p, seconds: _s, ...verdict }: Receipt): Verdict {
  return verdict
}

/** Checks and loads files of any format in one store; each file needs meters of its own. */
export async function createLoader(t: Test): Promise<Loader> {
  const { context, loads } = await createLineByHand(t)
  const { store, folders, log, ledger } = context
  let files = 0
  const write = (file: Buffer, feed = 'Electric') => {
    const path = join(folders.inbox, `DEMO_04032026_${feed}_${++files}.csv`)
    writeFileSync(path, file)
    return path
  }
  const profileOf = (setting: Setting) =>
    profileWith({ ...setting, usage: { futureHours: 87_600, ...setting.usage } })
  return {
    check: async (file, setting) => {
      const path = write(file, setting.feed)
      const options = { profile: profileOf(setting), store, folders, log, badRowsMax }
      const [{ receipt, badRows }] = (await check(await toEntries([path]), options)) as [Checked]
      return { verdict: toVerdict(receipt), badRows }
    },
    load: async (file, setting) => {
      const path = write(file, setting.feed)
      const profile = profileOf(setting)
      const own: PipelineContext = { ...context, profile, zone: createZone(profile.timeZone) }
      const { mtimeMs, size: bytes } = statSync(path)
      const entry = { source: 'submit', name: path.slice(path.lastIndexOf('/') + 1), path, bytes }
      const modifiedMs = Math.trunc(mtimeMs)
      const { arrival } = await ledger.claim({ ...entry, modifiedMs, force: false })
      await receive(own, arrival)
      for (const task of loads.splice(0)) await load(own, task)
      await reconcile(own, arrival)
      await settle(own, arrival)
      const meters = await store.rows<LoadedMeter>({
        sql: sql`SELECT meter_id AS meter, seconds, toUInt32(count()) AS reads,
            toString(sum(quantity)) AS sum, toString(min(local_day)) AS firstDay,
            toString(max(local_day)) AS lastDay
          FROM usage_read FINAL WHERE ${isOfFile(arrival)} GROUP BY ALL ORDER BY ALL`,
      })
      const all = await store.rows<BadRow>({
        sql: sql`SELECT ${sentLine} AS line, column_name AS column, code, detail, ${sentText} AS row
          FROM reject FINAL WHERE arrival = ${arrival} ORDER BY reject.line LIMIT ${badRowsMax}`,
      })
      const verdict = toVerdict(toReceipt((await ledger.state(arrival)) as FileState))
      // A file that was refused before its verdict has a receipt without rejected rows.
      const badRows = verdict.rows.rejected === 0 ? [] : all
      return { verdict, badRows, meters: [...meters] }
    },
    periods: (meters) =>
      store.rows<LoadedPeriod>({
        sql: sql`SELECT account_number AS account, meter_id AS meter, toString(billing_start_date) AS first,
            toString(billing_end_date) AS last, toString(total_consumption) AS quantity, toString(cost) AS cost, quality
          FROM billing_period WHERE startsWith(meter_id, ${meters}) ORDER BY ALL`,
      }),
  }
}
