import { Fault } from '../../schemas/fault.js'
import type { IdentitySettings } from '../../schemas/settings/gateway-identity.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, plain, type Row, toInstant } from '../store/columns.js'
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

type Connected = Pick<Profile, 'cis' | 'ami' | 'identity' | 'backfill'>

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
  readonly profile: Connected
  /** The kinds of systems that this process calls. */
  readonly kinds: readonly string[]
  /** Called when a state cannot be recorded; it is recorded later. */
  readonly onFailure: (fault: Fault) => void
  /** Between two looks at what other processes recorded. */
  readonly lookMs?: number
}

const recordMs = 2_000
const lookMsDefault = 60_000

/**
 * Keeps the outcomes in memory and records changes for status, page and alerts. A process that starts
 * takes over what is recorded, so that an outage keeps its beginning. A good answer also ends what
 * another process recorded before it: that one may call nobody any more. A system that the profile no
 * longer names, such as a replaced issuer, is recorded as not failing: nobody calls it again.
 */
export function createSystems(options: SystemsOptions): Systems {
  const { store, profile, kinds, onFailure, lookMs = lookMsDefault } = options
  const states = new Map<string, SystemFailure | undefined>()
  const changed = new Set<string>()
  const ended = new Map<string, Outage>()
  /** When each system answered well since the last look. */
  const goodAt = new Map<string, number>()
  let lookAt = 0
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
    if (fault === undefined) goodAt.set(system, Date.now())
    else goodAt.delete(system)
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
  /** Ends what other processes recorded before the last good answer. */
  const look = async (): Promise<void> => {
    if (goodAt.size === 0 || Date.now() < lookAt) return
    lookAt = Date.now() + lookMs
    const good = new Map(goodAt)
    goodAt.clear()
    for (const { recordedAt, ...one } of await readSystems(store)) {
      if (recordedAt.getTime() < (good.get(one.system) ?? 0) && !states.get(one.system)) end(one)
    }
  }
  const takeOver = async (): Promise<void> => {
    const named = systemsOf(profile)
    for (const { recordedAt: _, ...one } of await readSystems(store)) {
      if (!kinds.includes(systemKind(one))) continue
      if (!named.includes(one.system)) changed.add(one.system)
      else if (!states.has(one.system)) states.set(one.system, one)
      else if (states.get(one.system) === undefined) end(one)
    }
  }
  const letFail = (error: unknown) => {
    if (!(error instanceof Fault)) throw error
    onFailure(error)
  }
  const start = takeOver().catch(letFail)
  const timer = setInterval(() => {
    recording ??= start
      .then(look)
      .catch(letFail)
      .then(record)
      .finally(() => {
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

/** The recorded systems that fail, and when that was recorded last. */
async function readSystems(
  store: Store,
): Promise<readonly (SystemFailure & { readonly recordedAt: Date })[]> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM system_state FINAL WHERE active ORDER BY system`,
  })
  return rows.map((row) => {
    const { active: _, ...failure } = codec.fromRow(row)
    return { ...failure, recordedAt: toInstant(String(row['recorded_at'])) }
  })
}

/** The same, without systems that the profile does not have any more. */
export async function readFailingSystems(
  store: Store,
  profile: Connected,
): Promise<readonly SystemFailure[]> {
  const named = systemsOf(profile)
  return (await readSystems(store)).filter(({ system }) => named.includes(system))
}

/** The systems of a profile by the names under which their drivers report. */
function systemsOf({ cis, ami, identity, backfill }: Connected): readonly string[] {
  const sections = Object.entries({ cis, ami, mdm: backfill })
  const others = sections.flatMap(([name, section]) => (section === undefined ? [] : [name]))
  return [...others, ...(identity === undefined ? [] : providersOf(identity))]
}

/** A SAML provider is not called. */
function providersOf(settings: IdentitySettings): readonly SystemName[] {
  if (settings.kind === 'several') return settings.providers.flatMap(providersOf)
  if (settings.kind === 'oidc')
    return settings.issuers.map(({ issuer }): SystemName => `identity ${issuer}`)
  if (settings.kind === 'saml') return []
  return [introspectionName(settings)]
}

export function introspectionName({ url }: { readonly url: string }): SystemName {
  return `identity ${new URL(url).origin}`
}

/** `cis`, `ami`, `mdm` or `identity`. */
export function systemKind({ system }: Pick<SystemFailure, 'system'>): string {
  return system.split(' ')[0] ?? ''
}
