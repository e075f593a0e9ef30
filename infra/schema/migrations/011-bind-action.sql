CREATE TABLE IF NOT EXISTS {database}.bind_action
(
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
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mac_address, slot)
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Actions on hubs, written before the head-end is called; a slot is claimed once, by its insert token';
