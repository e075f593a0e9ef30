import { ClickHouseError } from '@clickhouse/client'
import { toStoreFault } from '../../pipeline/store/clickhouse.js'
import type { Fault } from '../../schemas/fault.js'

/** Errors of a server by code. */
export type Errors = Readonly<Record<string, string>>

/** How each write to a replicated table is refused while Keeper is away. */
export const withoutKeeper = {
  '225': 'NO_ZOOKEEPER',
  '242': 'TABLE_IS_READ_ONLY',
  '999': 'KEEPER_EXCEPTION',
} as const satisfies Errors

/** How a single statement is refused where Keeper or the other replica is away. */
export const refusals = {
  ...withoutKeeper,
  '203': 'NO_FREE_CONNECTION',
  '279': 'ALL_CONNECTION_TRIES_FAILED',
  '285': 'TOO_FEW_LIVE_REPLICAS',
} as const satisfies Errors

/** How a write ends in whose middle Keeper is lost. */
export const lostInKeeper = {
  '319': 'UNKNOWN_STATUS_OF_INSERT',
  '999': 'KEEPER_EXCEPTION',
} as const satisfies Errors

/** How a server says that it does not know whether it carried a statement out. */
export const lostAnswers = {
  ...lostInKeeper,
  '209': 'SOCKET_TIMEOUT',
  '341': 'UNFINISHED',
} as const satisfies Errors

/** The fault of a statement for the error that `pick` draws. */
export function drawnFault(text: string, errors: Errors, pick: (among: number) => number): Fault {
  const all = Object.entries(errors)
  const [code, type] = all[pick(all.length)] as [string, string]
  const error = new ClickHouseError({ code, type, message: 'drawn' })
  return toStoreFault(text, { error, wording: 'verbatim' })
}
