CREATE TABLE IF NOT EXISTS {database}.login_attempt{onCluster} (
    client_id String COMMENT 'permanent client identifier of an existing customer',
    epoch UInt32 COMMENT 'how often the customer had been unlocked before',
    slot UInt8 COMMENT 'number of the failed attempt in this epoch: 1, 2, 3; the third locks',
    token_hash String COMMENT 'keyed hash of the refused token: the same token counts once',
    claim String COMMENT 'id of the claim, random',
    reason LowCardinality(String) COMMENT 'why the provider refused the token: revoked, or the status of its response',
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
COMMENT 'Customers unlocked by a person; attempts before that no longer count';

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
    version UInt32 COMMENT 'version of the state of the action; the highest counts',
    claim String COMMENT 'id of the claim, random; the head-end receives it as the id of the action',
    request_hash String COMMENT 'keyed hash of the request, to recognise a repeated request',
    action_code UInt8 COMMENT '1 bind, 0 unbind',
    meter_id String COMMENT 'meter that the hub is bound to or released from',
    state LowCardinality(String) COMMENT 'pending (about to be sent, or in progress at the head-end), success, failed or unknown',
    reason LowCardinality(String) COMMENT 'code of the fault that prevented success, empty if none',
    requested_at DateTime64(3, 'UTC') COMMENT 'when the action was claimed',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (mac_address, slot)
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Bind actions on hubs, recorded before the head-end is called; a slot is claimed once, by its insert token';
