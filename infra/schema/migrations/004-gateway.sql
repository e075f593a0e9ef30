CREATE TABLE IF NOT EXISTS {database}.login_attempt{onCluster} (
    client_id String COMMENT 'permanent client identifier of an existing customer',
    epoch UInt32 COMMENT 'how often the customer had been unlocked before',
    slot UInt8 COMMENT 'number of the failed attempt in this epoch: 1, 2, 3; the third locks',
    token_hash String COMMENT 'keyed hash of the refused token: the same token counts once',
    claim String COMMENT 'who claimed the slot: a random id of the claim',
    reason LowCardinality(String) COMMENT 'why the token was refused: audience, scope, revoked',
    at DateTime64(3, 'UTC') COMMENT 'when it was refused'
) ENGINE = {engine:MergeTree}
ORDER BY (client_id, epoch, slot)
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Failed attempts of existing customers; a slot is claimed once, by its insert token';

CREATE TABLE IF NOT EXISTS {database}.login_unlock{onCluster} (
    client_id String COMMENT 'permanent client identifier',
    epoch UInt32 COMMENT 'the epoch that began with it: 1, 2, 3 ...',
    at DateTime64(3, 'UTC') COMMENT 'when the customer was unlocked'
) ENGINE = {engine:MergeTree}
ORDER BY (client_id, epoch)
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Customers that were unlocked by a person; attempts before it count no more';

CREATE OR REPLACE VIEW {database}.login_lock{onCluster} (
    client_id String COMMENT 'permanent client identifier',
    locked_at DateTime64(3, 'UTC') COMMENT 'when the third attempt failed'
) AS SELECT client_id, max(at) AS locked_at
FROM {database}.login_attempt
WHERE (client_id, epoch) NOT IN
(
    SELECT client_id, toUInt32(epoch - 1) FROM {database}.login_unlock
)
GROUP BY client_id, epoch
HAVING uniqExact(slot) >= 3
COMMENT 'Customers that are locked here until a person unlocks them';

CREATE TABLE IF NOT EXISTS {database}.bind_action{onCluster} (
    mac_address String COMMENT 'address of the hub, upper case',
    slot UInt32 COMMENT 'number of the action of this hub: 1, 2, 3 ...; the highest is the latest',
    version UInt32 COMMENT 'rank of what is known of the action; the highest counts',
    claim String COMMENT 'who claimed the slot: a random id, which the head-end is given as the id of the action',
    request_hash String COMMENT 'keyed hash of the request, by which the same request is known again',
    action_code UInt8 COMMENT '1 bind, 0 unbind',
    meter_id String COMMENT 'meter that the hub is bound to or released from',
    state LowCardinality(String) COMMENT 'pending: about to be sent, or the head-end is at work; success, failed, unknown',
    reason LowCardinality(String) COMMENT 'code of what kept it from success, empty if nothing',
    requested_at DateTime64(3, 'UTC') COMMENT 'when the action was claimed',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (mac_address, slot)
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Actions on hubs, written before the head-end is called; a slot is claimed once, by its insert token';
