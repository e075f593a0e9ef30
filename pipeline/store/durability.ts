/**
 * When rows count as stored: on the server that took them, or on a majority of the replicas of their
 * table. Without replicas both are the same.
 */
export type Durability = 'one' | 'majority'

/** An insert waits this long for a majority, then it has failed and is repeated. */
const quorumMsMax = 60_000

/**
 * A change waits for the replicas that are up, and fails where one is away (`onReplicas`). A replicated table
 * does not wait at all where only active replicas are asked for (3).
 */
export const durabilitySettings = {
  one: { lightweight_deletes_sync: '1' },
  majority: {
    insert_quorum: 'auto',
    insert_quorum_timeout: quorumMsMax,
    alter_sync: '2',
    replication_wait_for_inactive_replica_timeout: '0',
  },
} as const satisfies Readonly<Record<Durability, object>>
