import { createHmac, randomUUID } from 'node:crypto'
import { runTogether } from '../../pipeline/queues/together.js'
import { claimOnce } from '../../pipeline/store/claim.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { createCodec, dateTime, integer, plain, type Row } from '../../pipeline/store/columns.js'
import { sql } from '../../pipeline/store/sql.js'
import type { BindRequest } from '../../schemas/gateway/bind-request.js'

export type ActionState = 'pending' | 'success' | 'failed' | 'unknown'

/** An action on a hub. */
export interface Action {
  readonly macAddress: string
  readonly slot: number
  /** Its id, which is sent to the head-end. */
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
  /** Requests contain the install code, so only their hashes under this key are stored. */
  readonly key: string
  readonly now: () => Date
}

/** Actions on hubs, durable before each call resolves. Faults: the store's. */
export interface Actions {
  /** The hub's latest action and the one before it. */
  recent(macAddress: string): Promise<readonly Action[]>
  hashOf(request: BindRequest): string
  /** Claims the slot after `before` for a request; undefined if another was first. */
  claim(
    request: BindRequest,
    meterId: string,
    before: Action | undefined,
  ): Promise<Action | undefined>
  record(action: Action, outcome: { state: ActionState; reason: string }): Promise<Action>
}

/** What binds store together; one whose insert gets no answer does not hold up the others for long. */
export const togetherInBinds = { most: 100, patienceMs: 2_000 } as const

export function createActions({ store, key, now }: ActionsOptions): Actions {
  const recent = async (macAddress: string) => {
    const rows = await store.rows<Row>({
      sql: sql`SELECT * FROM bind_action FINAL
        WHERE mac_address = ${macAddress} ORDER BY slot DESC LIMIT 2`,
    })
    return rows.map((row) => codec.fromRow(row))
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
  const write = runTogether<Row>((rows) => store.insert('bind_action', rows), togetherInBinds)
  return {
    recent,
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
      const { slot, claim } = action
      const own = await claimOnce(store, 'bind_action', {
        token: `bind-${macAddress}-${slot}`,
        rows: [codec.toRow(action)],
        own: sql`SELECT 1 FROM bind_action
          WHERE mac_address = ${macAddress} AND slot = ${slot} AND claim = ${claim}`,
      })
      return own.length > 0 ? action : undefined
    },
    record: async (action, { state, reason }) => {
      const version = action.version + (state === 'success' ? successVersions : 1)
      const recorded = { ...action, state, reason, version }
      await write(codec.toRow(recorded))
      return recorded
    },
  }
}

/**
 * Above all other versions of an action: a gateway that was held up may record an older outcome after
 * another one has seen that the action succeeded.
 */
const successVersions = 1_000_000

const codec = createCodec<Action>({
  macAddress: plain(),
  slot: plain(),
  claim: plain(),
  requestHash: plain(),
  actionCode: plain(),
  meterId: plain(),
  state: plain(),
  reason: plain(),
  requestedAt: dateTime,
  version: integer,
})
