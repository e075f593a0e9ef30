import { createHmac, randomUUID } from 'node:crypto'
import type { Store } from '../../pipeline/store/clickhouse.js'
import type { BindRequest } from '../../schemas/gateway/bind-request.js'

export type ActionState = 'pending' | 'success' | 'failed' | 'unknown'

/** An action on a hub as it is written down. */
export interface Action {
  readonly macAddress: string
  readonly slot: number
  /** Its id, which the head-end is given. */
  readonly claim: string
  readonly requestHash: string
  readonly actionCode: 0 | 1
  readonly meterId: string
  readonly state: ActionState
  readonly reason: string
  readonly requestedAt: Date
  readonly version: number
}

export interface ActionsOptions {
  readonly store: Store
  /** Requests are kept as hashes under this key: they hold the install code. */
  readonly key: string
  readonly now: () => Date
}

/** Actions on hubs, durable before each call resolves. Faults: the store's. */
export interface Actions {
  latest(macAddress: string): Promise<Action | undefined>
  hashOf(request: BindRequest): string
  /** Claims the slot behind `before` for a request; undefined where another was first. */
  claim(
    request: BindRequest,
    meterId: string,
    before: Action | undefined,
  ): Promise<Action | undefined>
  record(action: Action, outcome: { state: ActionState; reason: string }): Promise<Action>
}

export function createActions({ store, key, now }: ActionsOptions): Actions {
  const latest = async (macAddress: string) => {
    const [row] = await store.rows<ActionRow>({
      sql: `SELECT * FROM bind_action FINAL
        WHERE mac_address = {macAddress:String} ORDER BY slot DESC LIMIT 1`,
      parameters: { macAddress },
    })
    return row === undefined ? undefined : fromRow(row)
  }
  const hashOf = (request: BindRequest) => {
    const { hemProfileId, accountSlid, macAddress, installCode, actionCode, meterId } = request
    const parts = [
      hemProfileId,
      accountSlid,
      macAddress,
      installCode.toUpperCase(),
      actionCode,
      meterId,
    ]
    return createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex')
  }
  return {
    latest,
    hashOf,
    claim: async (request, meterId, before) => {
      const { macAddress, actionCode } = request
      const action: Action = {
        macAddress,
        slot: (before?.slot ?? 0) + 1,
        claim: randomUUID(),
        requestHash: hashOf(request),
        actionCode,
        meterId,
        state: 'pending',
        reason: '',
        requestedAt: now(),
        version: 1,
      }
      await store.insert('bind_action', [toRow(action)], {
        insert_deduplicate: 1,
        insert_deduplication_token: `bind-${macAddress}-${action.slot}`,
      })
      return (await latest(macAddress))?.claim === action.claim ? action : undefined
    },
    record: async (action, { state, reason }) => {
      const recorded = { ...action, state, reason, version: action.version + 1 }
      await store.insert('bind_action', [toRow(recorded)])
      return recorded
    },
  }
}

interface ActionRow {
  readonly mac_address: string
  readonly slot: number
  readonly version: number
  readonly claim: string
  readonly request_hash: string
  readonly action_code: 0 | 1
  readonly meter_id: string
  readonly state: ActionState
  readonly reason: string
  readonly requested_at: string
}

function fromRow(row: ActionRow): Action {
  return {
    macAddress: row.mac_address,
    slot: row.slot,
    claim: row.claim,
    requestHash: row.request_hash,
    actionCode: row.action_code,
    meterId: row.meter_id,
    state: row.state,
    reason: row.reason,
    requestedAt: new Date(`${row.requested_at.replace(' ', 'T')}Z`),
    version: row.version,
  }
}

function toRow(action: Action): ActionRow {
  return {
    mac_address: action.macAddress,
    slot: action.slot,
    version: action.version,
    claim: action.claim,
    request_hash: action.requestHash,
    action_code: action.actionCode,
    meter_id: action.meterId,
    state: action.state,
    reason: action.reason,
    requested_at: action.requestedAt.toISOString(),
  }
}
