import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../store/columns.js'
import { insertLatest } from '../store/latest.js'
import { sql } from '../store/sql.js'
import { type Outage, recordHealed } from './healed.js'

/** A system of the utility: `cis`, `ami`, `mdm`, or `identity` with the address of the provider. */
export type SystemName = 'cis' | 'ami' | 'mdm' | `identity ${string}`

/** A system that fails: the requests that failed since its last good answer. */
export interface SystemFailure {
  readonly system: string
  readonly failures: number
  readonly code: string
  readonly detail: string
  readonly since: Date
}

/** Reports the outcome of a call; undefined for a good one. `requests` counts those that failed. */
export type ReportSystem = (system: SystemName, fault: Fault | undefined, requests?: number) => void

/** The outcome of the last calls of one process to each system. */
export interface Systems {
  readonly report: ReportSystem
  /** The result of a call, whose outcome is reported. */
  watch<T>(system: SystemName, call: Promise<T>): Promise<T>
  failing(): readonly SystemFailure[]
  close(): Promise<void>
}

export interface SystemsOptions {
  readonly store: Store
  /** The systems that this process calls. */
  readonly own: readonly string[]
  /** Called when a state cannot be recorded; it is recorded later. */
  readonly onFailure: (fault: Fault) => void
}

const recordMs = 2_000

/**
 * Keeps the outcomes in memory and records changes for status, page and alerts. A process that starts
 * takes over what is recorded, so that an outage keeps its beginning.
 */
export function createSystems({ store, own, onFailure }: SystemsOptions): Systems {
  const states = new Map<string, SystemFailure | undefined>()
  const changed = new Set<string>()
  const ended = new Map<string, Outage>()
  let recording: Promise<void> | undefined
  /** Outages of one system that end before the next record are one. */
  const end = ({ system, since, code, detail }: SystemFailure): void => {
    const { beganAt = since } = ended.get(system) ?? {}
    const healedAt = new Date()
    ended.set(system, { kind: 'system', subject: system, beganAt, healedAt, code, detail })
    changed.add(system)
  }
  const report: ReportSystem = (system, fault, requests = 1) => {
    const before = states.get(system)
    if (fault === undefined && before === undefined && states.has(system)) return
    const { failures = 0, since = new Date() } = before ?? {}
    if (fault === undefined && before !== undefined) end(before)
    const state = fault && { code: fault.code, detail: fault.detail, since }
    states.set(system, state && { ...state, system, failures: failures + requests })
    changed.add(system)
  }
  const record = async (): Promise<void> => {
    for (const system of [...changed]) {
      changed.delete(system)
      try {
        const outage = ended.get(system)
        if (outage !== undefined) await recordHealed(store, outage)
        if (ended.get(system) === outage) ended.delete(system)
        await recordSystem(store, system, states.get(system))
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        changed.add(system)
        onFailure(error)
      }
    }
  }
  const takeOver = async (): Promise<void> => {
    for (const one of await readSystems(store)) {
      if (!own.includes(systemKind(one))) continue
      if (!states.has(one.system)) states.set(one.system, one)
      else if (states.get(one.system) === undefined) end(one)
    }
  }
  const start = takeOver().catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error
    onFailure(error)
  })
  const timer = setInterval(() => {
    recording ??= start.then(record).finally(() => {
      recording = undefined
    })
  }, recordMs).unref()
  return {
    report,
    watch: async (system, call) => {
      try {
        const result = await call
        report(system, undefined)
        return result
      } catch (error) {
        if (error instanceof Fault) report(system, error)
        throw error
      }
    },
    failing: () =>
      [...states.values()]
        .filter((state) => state !== undefined)
        .sort((a, b) => (a.system < b.system ? -1 : 1)),
    close: async () => {
      clearInterval(timer)
      await start
      await recording
      await record()
    },
  }
}

interface SystemRow extends SystemFailure {
  readonly active: boolean
}

const codec = createCodec<SystemRow>({
  system: plain(),
  active: plain(),
  failures: plain(),
  code: plain(),
  detail: plain(),
  since: dateTime,
})

const noFailure = { failures: 0, code: '', detail: '', since: new Date(0) }

function recordSystem(store: Store, system: string, failure: SystemFailure | undefined) {
  const row = { ...(failure ?? { ...noFailure, system }), active: failure !== undefined }
  return insertLatest(store, 'system_state', [codec.toRow(row)])
}

/** The recorded systems that fail. */
async function readSystems(store: Store): Promise<readonly SystemFailure[]> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM system_state FINAL WHERE active ORDER BY system`,
  })
  return rows.map(codec.fromRow).map(({ active: _, ...failure }) => failure)
}

/** The same, without systems that the profile does not have any more. */
export async function readFailingSystems(
  store: Store,
  { cis, ami, identity, backfill }: Pick<Profile, 'cis' | 'ami' | 'identity' | 'backfill'>,
): Promise<readonly SystemFailure[]> {
  const has: Readonly<Record<string, unknown>> = { cis, ami, identity, mdm: backfill }
  const failing = await readSystems(store)
  return failing.filter((one) => has[systemKind(one)] !== undefined)
}

/** `cis`, `ami`, `mdm` or `identity`. */
export function systemKind({ system }: Pick<SystemFailure, 'system'>): string {
  return system.split(' ')[0] ?? ''
}
