CREATE TABLE IF NOT EXISTS {database}.confirmation
(
    local_day Date COMMENT 'local calendar day on which the interval starts',
    meter_id String COMMENT 'permanent and unique meter identifier',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds',
    arrival UInt32 COMMENT 'number of the arrival that repeated the read',
    recorded_at DateTime('UTC') DEFAULT now() COMMENT 'when it was written'
)
ENGINE = ReplacingMergeTree
ORDER BY (local_day, meter_id, starts_at, seconds, arrival)
TTL recorded_at + INTERVAL 30 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Reads that a file repeated unchanged while an earlier arrival of its feed was undecided: what that one says comes too late';
