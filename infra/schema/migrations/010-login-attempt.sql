CREATE TABLE IF NOT EXISTS {database}.login_attempt
(
    client_id String COMMENT 'permanent client identifier of an existing customer',
    epoch UInt32 COMMENT 'how often the customer had been unlocked before',
    slot UInt8 COMMENT 'number of the failed attempt in this epoch: 1, 2, 3; the third locks',
    token_hash String COMMENT 'keyed hash of the refused token: the same token counts once',
    claim String COMMENT 'who claimed the slot: a random id of the claim',
    reason LowCardinality(String) COMMENT 'why the token was refused: audience, scope, revoked',
    at DateTime64(3, 'UTC') COMMENT 'when it was refused'
)
ENGINE = MergeTree
ORDER BY (client_id, epoch, slot)
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Failed attempts of existing customers; a slot is claimed once, by its insert token';

CREATE TABLE IF NOT EXISTS {database}.login_unlock
(
    client_id String COMMENT 'permanent client identifier',
    epoch UInt32 COMMENT 'the epoch that began with it: 1, 2, 3 ...',
    at DateTime64(3, 'UTC') COMMENT 'when the customer was unlocked'
)
ENGINE = MergeTree
ORDER BY (client_id, epoch)
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Customers that were unlocked by a person; attempts before it count no more';

CREATE OR REPLACE VIEW {database}.login_lock
(
    client_id String COMMENT 'permanent client identifier',
    locked_at DateTime64(3, 'UTC') COMMENT 'when the third attempt failed'
)
AS SELECT client_id, max(at) AS locked_at
FROM {database}.login_attempt
WHERE (client_id, epoch) NOT IN
(
    SELECT client_id, toUInt32(epoch - 1) FROM {database}.login_unlock
)
GROUP BY client_id, epoch
HAVING uniqExact(slot) >= 3
COMMENT 'Customers that are locked here until a person unlocks them';
