import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { trimBlanks } from '../../schemas/field.js'
import { type HistoryAsked, toUsageText } from '../../schemas/gateway/history.js'
import type { Registration } from '../../schemas/gateway/registration.js'
import { addDays, dayAt } from '../../schemas/time/zone.js'
import type { PipelineContext } from '../context.js'
import { parseRow } from '../files/csv.js'
import { splitRows } from '../files/rows.js'
import type { Arrival } from '../ledger/ledger.js'
import { attempt, writeWhole } from '../sources/disk.js'
import {
  findArrivalSince,
  type HistoryRequest,
  latestAccounts,
  openHistoryMeters,
  readHistoryRequests,
  writeHistoryRequests,
} from './history-requests.js'
import type { RegisterContext } from './renewal.js'

/** The source of files that were made from answers. */
export const backfillSource = 'backfill'

/** Place of MeterID in a row: AccountNumber, ExternalSiteID, MeterID, TimeStamp, TotalUnit. */
const meterColumn = 2

/** Requests that one sweep queues; the next sweep takes the rest. */
const sweptMax = 10_000

/**
 * Opens a history request for each newly registered meter and returns those meters. A meter is requested
 * again when its request failed, and for an account that was registered there since: of what the MDM answered
 * before, only the reads of registered accounts were stored. Faults: the store's.
 */
export async function openHistory(
  { store, now }: RegisterContext,
  customers: readonly Registration[],
): Promise<readonly string[]> {
  const meters = new Map(
    customers.flatMap((one) => one.meters).map(({ meterId, meterType }) => [meterId, meterType]),
  )
  if (meters.size === 0) return []
  const known = new Map(
    (await readHistoryRequests(store, [...meters.keys()])).map((one) => [one.meterId, one]),
  )
  const accounts = await latestAccounts(store, [...known.keys()])
  const opened = [...meters].flatMap(([meterId, commodity]): readonly HistoryRequest[] => {
    const before = known.get(meterId)
    const latest = accounts.get(meterId)?.getTime() ?? 0
    if (before !== undefined && !isDueAgain(before, latest)) return []
    const version = (before?.version ?? 0) + 1
    // Not by the clock alone: that of the machine that registered may be ahead.
    const requestedAt = new Date(Math.max(now().getTime(), latest))
    return [{ meterId, commodity, state: 'open', reason: '', arrival: 0, requestedAt, version }]
  })
  if (opened.length > 0) await writeHistoryRequests(store, opened)
  return opened.map(({ meterId }) => meterId)
}

/** `latest` is when the latest account of its meter was registered, in ms since 1970. */
function isDueAgain({ state, requestedAt }: HistoryRequest, latest: number): boolean {
  return state === 'failed' || (state !== 'open' && requestedAt.getTime() < latest)
}

/** Queues open requests, also after the queue was lost. */
export async function queueOpenHistory(context: PipelineContext): Promise<void> {
  if (context.mdm === undefined) return
  for (const meterId of await openHistoryMeters(context.store, sweptMax)) {
    await context.queues.add('backfill', { v: 1, meterId })
  }
}

/**
 * Asks the MDM for the history of a meter and submits the answer as a file like any other. The
 * request is recorded first and closed last: after a crash in between, the next attempt finds the
 * file's arrival, or asks again. `begin` gets the arrival. Faults: the MDM's.
 */
export async function backfill(
  context: PipelineContext,
  meterId: string,
  begin: (arrival: Arrival) => void,
): Promise<void> {
  const [request] = await readHistoryRequests(context.store, [meterId])
  if (context.mdm === undefined || request?.state !== 'open') return
  const path = join(context.folders.backfill, `${hashOf(meterId)}-${request.version}.csv`)
  const known = await findArrivalSince(context.store, path, request.requestedAt)
  if (known !== undefined) return end(context, request, { state: 'answered', arrival: known })
  const answer = await context.mdm.history(askedOf(context, request))
  const text = answer === undefined ? undefined : toUsageText(answer)
  if (text === undefined) return end(context, request, { state: 'empty' })
  expectOwnRows(text, meterId)
  await writeWhole(path, (part) => writeFlushed(part, text))
  const { size, mtimeMs } = await attempt(path, () => stat(path))
  const arrival = await context.ledger.claim({
    source: backfillSource,
    name: nameOf(context, request),
    path,
    bytes: size,
    modifiedMs: Math.trunc(mtimeMs),
    wholeBy: answer?.isWhole ? 'answer' : '',
    force: false,
  })
  await end(context, request, { state: 'answered', arrival: arrival.arrival })
  begin(arrival)
}

/**
 * Refuses rows of another meter: nobody has checked whose they are, and their reads would replace
 * those of files. Rows without a meter are left to the usual validation.
 */
function expectOwnRows(text: string, meterId: string): void {
  const [, ...rows] = splitRows(Buffer.from(text), 1)
  for (const [at, { raw }] of rows.entries()) {
    const found = parseRow(raw)?.[meterColumn]
    const isForeign = found !== undefined && trimBlanks(found) !== meterId
    // With a quality, each of its lines is a row.
    const isSeveral = raw.includes('\n')
    if (!isForeign && !isSeveral) continue
    const what = isForeign
      ? 'is for another meter than the requested one'
      : 'has a line break in a value'
    throw new Fault('MDM_ANSWER', `row ${at + 1} of the MDM's answer ${what}`)
  }
}

/** Closes a request that failed for good; it is opened again at the customer's next call. */
export async function failHistory(
  context: PipelineContext,
  meterId: string,
  error: unknown,
): Promise<void> {
  const [request] = await readHistoryRequests(context.store, [meterId])
  if (request?.state !== 'open') return
  const reason = error instanceof Fault ? error.code : 'unexpected failure'
  await end(context, request, { state: 'failed', reason })
}

function end(
  context: PipelineContext,
  request: HistoryRequest,
  how: Partial<HistoryRequest>,
): Promise<void> {
  return writeHistoryRequests(context.store, [{ ...request, ...how, version: request.version + 1 }])
}

function askedOf(context: PipelineContext, { meterId, requestedAt }: HistoryRequest): HistoryAsked {
  const to = dayAt(context.zone, requestedAt)
  const days = context.profile.backfill?.days ?? 0
  return { meterId, from: addDays(to, -days), to }
}

/** Nine digits of the hash distinguish the files of a day for people; the program goes by the path. */
function nameOf(
  context: PipelineContext,
  { meterId, commodity, requestedAt }: HistoryRequest,
): string {
  const [year, month, day] = dayAt(context.zone, requestedAt).split('-')
  const number = Number.parseInt(hashOf(meterId).slice(0, 12), 16) % 1_000_000_000
  return `${context.profile.companyCodes[0]}_${day}${month}${year}_${commodity}_${number}.csv`
}

/** Durable too: after a power cut the file is complete or absent. */
async function writeFlushed(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

function hashOf(meterId: string): string {
  return createHash('sha256').update(meterId).digest('hex').slice(0, 32)
}
