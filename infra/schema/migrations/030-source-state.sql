CREATE TABLE IF NOT EXISTS {database}.source_state
(
    source LowCardinality(String) COMMENT 'source of the profile',
    aspect LowCardinality(String) COMMENT 'pause: whether an operator paused it; poll: whether listing it fails',
    active Bool COMMENT 'paused, or failing',
    failures UInt32 COMMENT 'failures in a row',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same in words',
    since DateTime64(3, 'UTC') COMMENT 'when it was paused, or failed first',
    retry_at DateTime64(3, 'UTC') COMMENT 'when it is tried again',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
)
ENGINE = ReplacingMergeTree(recorded_at)
ORDER BY (source, aspect)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Sources that are paused or fail; the latest row of an aspect counts';
