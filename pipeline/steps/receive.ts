import { join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { isSchedule } from '../../schemas/feed.js'
import { type FileName, parseFileName } from '../../schemas/file-name.js'
import { formatQuantity } from '../../schemas/quantity.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { PipelineContext } from '../context.js'
import { refuseFullDisk } from '../files/disk.js'
import { chunkName, landedFolder, lookAtChunk } from '../files/landing.js'
import { kindOf } from '../kinds.js'
import { type FileState, type Notes, noQuantity, noRows } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import { refuseRows, truncatedRefusal } from '../ledger/verdict.js'
import { hasReported } from '../machine.js'
import type { Source } from '../sources/source.js'
import { forward } from './forward.js'
import { landFrom, type Origin } from './land-rows.js'
import { reprocessedBy } from './reprocess.js'

/**
 * Reads one file in a single pass: hashes the bytes, checks the header, cuts the rows into chunks,
 * counts them, and queues the load of each chunk as soon as it has landed. The manifest is written
 * last; after a failure before that, the step runs again from the start.
 */
export async function receive(context: PipelineContext, number: number): Promise<void> {
  const { ledger } = context
  const [known, arrival] = await Promise.all([ledger.state(number), ledger.arrival(number)])
  if (known !== undefined) return forward(context, known)
  if (arrival === undefined) return
  const state = await takeIn(context, arrival)
  await ledger.record(state)
  await forward(context, state)
}

async function takeIn(context: PipelineContext, arrival: Arrival): Promise<FileState> {
  let state = blankState(context, arrival)
  try {
    const name = parseFileName(arrival.name, context.profile)
    state = { ...state, companyCode: name.companyCode, fileDate: name.fileDate, feed: name.feed }
    const repairs = arrival.repairs ? { repairs: arrival.repairs } : {}
    state = { ...state, notes: { ...companyNotes(context, arrival, name), ...repairs } }
    await refuseSize(context, arrival)
    return await land(context, arrival, { name, state })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const wrong = { ...state, fault: error.code, reason: error.detail }
    if (!error.retry) return wrong
    if (error.code !== 'SOURCE_CHANGED') throw error
    // Nobody sends such a file again by itself.
    if (isSubmitted(arrival) || arrival.source === 'quarantine') return wrong
    return { ...wrong, status: 'replaced', settledAt: context.now() }
  }
}

/** A machine that workers never ran on may be new: they have this long to start. */
const unknownMsMax = 24 * 3_600_000

/** Lands a file; `SOURCE_CHANGED` where the only machine that had it was forgotten. */
async function landKnown(context: PipelineContext, origin: Origin) {
  try {
    return await landFrom(context, origin)
  } catch (error) {
    const isAway = error instanceof Fault && error.code === 'SOURCE_UNREACHABLE'
    if (!isAway || !(await isLost(context, origin.arrival))) throw error
    const detail = `its machine ${origin.arrival.machine} is not known any more; load it on another one`
    throw new Fault('SOURCE_CHANGED', detail)
  }
}

async function isLost({ store, now }: PipelineContext, arrival: Arrival): Promise<boolean> {
  const { machine, arrivedAt } = arrival
  if (!machine || now().getTime() - arrivedAt.getTime() < unknownMsMax) return false
  return !(await hasReported(store, machine))
}

/** Refuses a file by its name and size, before it is read. */
export async function admit(context: PipelineContext, arrival: Arrival): Promise<void> {
  companyNotes(context, arrival, parseFileName(arrival.name, context.profile))
  await refuseSize(context, arrival)
}

async function refuseSize(context: PipelineContext, arrival: Arrival): Promise<void> {
  const { limits } = context.profile
  await refuseFullDisk(context.folders.landing, arrival, limits.freeDiskBytesMin)
  refuseLarge(limits, arrival.bytes)
}

function isSubmitted(arrival: Arrival): boolean {
  return arrival.source === 'submit'
}

/** Refuses a company that is not the profile's; for a submitted file it is a warning. */
function companyNotes(
  context: Pick<PipelineContext, 'profile'>,
  arrival: Arrival,
  name: FileName,
): Notes {
  if (context.profile.companyCodes.includes(name.companyCode)) return {}
  const detail = `${name.companyCode} is not in companyCodes (${context.profile.companyCodes.join(', ')}); send it to its own utility, or add the code`
  if (!isSubmitted(arrival)) throw new Fault('COMPANY_CODE', detail)
  return { warnings: [detail] }
}

interface Named {
  readonly name: FileName
  readonly state: FileState
}

async function land(context: PipelineContext, arrival: Arrival, named: Named): Promise<FileState> {
  const { name, state } = named
  const source = sourceOf(context, arrival)
  const [resembles] = await Promise.all([
    context.ledger.resembles(arrival.name, arrival.bytes),
    kindOf(state).createStaging(context.store, state),
  ])
  const hold = resembles && !arrival.force
  const { fileId, cut, notes, ...manifest } = await landKnown(context, {
    arrival,
    source,
    name,
    hold,
  })
  await refuseOtherBytes(context, { arrival, state }, fileId)
  // Without a published file of its name and size, only one that is published meanwhile can be the
  // same: the verdict asks again.
  const mayBeSame = hold && !isSchedule(state.feed)
  const same = mayBeSame ? await context.ledger.published({ ...state, fileId }) : undefined
  const received: FileState = {
    ...toReceived(state, { fileId, manifest, notes }),
    duplicateOf: same?.arrival ?? 0,
  }
  if (received.duplicateOf !== 0) return received
  const refusal = refuseRows(state.feed, received.rows.read)
  if (refusal !== undefined) return { ...received, ...refusal }
  return cut === undefined ? received : refuseTruncated(context, received, cut)
}

function sourceOf({ sources }: PipelineContext, { source, name }: Arrival): Source {
  const found = sources.get(source)
  if (found !== undefined) return found
  const detail = `the profile has no source ${source}, which ${name} came from; restore it, or run tieline load with the file`
  throw new Fault('SOURCE_REMOVED', detail)
}

/** The state of a file whose bytes were read and counted. */
export function toReceived(
  state: FileState,
  { fileId, manifest, notes }: Pick<FileState, 'fileId' | 'manifest' | 'notes'>,
): FileState {
  const { chunks } = manifest
  const micros = chunks.reduce((sum, chunk) => sum + BigInt(chunk.micros), 0n)
  const rows = chunks.reduce((sum, chunk) => sum + chunk.rows, 0)
  return {
    ...state,
    fileId,
    manifest,
    notes: joinNotes(state.notes, notes),
    rows: { ...noRows, read: rows },
    quantity: { ...noQuantity, read: formatQuantity(micros) },
  }
}

/** Rows are only brought back from the bytes that were published, and accepted from those that were judged. */
async function refuseOtherBytes(
  { store, ledger }: PipelineContext,
  { arrival, state }: { readonly arrival: Arrival; readonly state: FileState },
  fileId: string,
): Promise<void> {
  const { repairs } = state.notes
  const isAccepted = arrival.acceptRejects === true
  const of = repairs ?? (isAccepted ? await reprocessedBy(store, arrival.arrival) : undefined)
  if (of === undefined) return
  const first = await ledger.state(of)
  if (first?.fileId === fileId) return
  const detail =
    repairs === undefined
      ? `${state.path} is not the file that was accepted as arrival ${of}: its sha256 differs; load it as a new file`
      : `${state.path} is not the file that was published as arrival ${of}: its sha256 differs; restore it from a backup`
  throw new Fault('FILE_STATE', detail)
}

function joinNotes(known: Notes, more: Notes): Notes {
  const warnings = [...(known.warnings ?? []), ...(more.warnings ?? [])]
  return { ...known, ...more, ...(warnings.length > 0 && { warnings }) }
}

/** The rest of a file may still arrive in a source; a submitted or uploaded file is complete. */
function refuseTruncated(
  { profile }: PipelineContext,
  state: FileState,
  reason: string,
): FileState {
  const refused = { ...state, ...truncatedRefusal, reason }
  const mayGrow = profile.sources.some(({ name }) => name === state.source)
  return mayGrow ? { ...refused, status: 'waiting' } : refused
}

/**
 * Restores the chunks of a file in the landing as they were cut. Missing and altered chunks, as after a
 * power cut, are landed again from the source, which keeps the file until it is settled.
 */
export async function ensureLanded(context: PipelineContext, state: FileState): Promise<void> {
  const folder = landedFolder(context.folders.landing, state.arrival)
  let isWhole = true
  for (const chunk of state.manifest.chunks) {
    isWhole &&= (await lookAtChunk(join(folder, chunkName(chunk.chunk)), chunk)) === 'intact'
  }
  if (isWhole) return
  const arrival = await context.ledger.arrival(state.arrival)
  if (arrival === undefined) throw sourceChanged(state)
  const source = sourceOf(context, arrival)
  const name = parseFileName(arrival.name, context.profile)
  const { fileId } = await landKnown(context, { arrival, source, name, hold: true })
  if (fileId !== state.fileId) throw sourceChanged(state)
}

function sourceChanged(state: FileState): Fault {
  const detail = `${state.fileName} is no longer the file that was taken in; send it again`
  return new Fault('SOURCE_CHANGED', detail)
}

function refuseLarge({ fileBytesMax }: Profile['limits'], bytes: number): void {
  if (bytes <= fileBytesMax) return
  throw new Fault(
    'FILE_TOO_LARGE',
    `${bytes} bytes, limits.fileBytesMax is ${fileBytesMax}; split it, or raise the limit`,
  )
}

/** The state of an arrival that has not been read. */
export function blankState(context: Pick<PipelineContext, 'now'>, arrival: Arrival): FileState {
  return {
    arrival: arrival.arrival,
    status: 'received',
    source: arrival.source,
    path: arrival.path,
    fileName: arrival.name,
    companyCode: '',
    fileDate: undefined,
    feed: '',
    fileId: '',
    bytes: arrival.bytes,
    manifest: { chunks: [], seconds: 0, format: null, ended: true },
    fault: '',
    reason: '',
    duplicateOf: 0,
    rows: noRows,
    quantity: noQuantity,
    held: { rows: 0, quantity: '0' },
    restated: { rows: 0, netQuantity: '0' },
    meters: 0,
    firstIntervalStart: undefined,
    lastIntervalEnd: undefined,
    notes: {},
    groupId: 0,
    decision: 0,
    attaches: '',
    restates: false,
    receivedAt: context.now(),
    publishedAt: undefined,
    settledAt: undefined,
  }
}
