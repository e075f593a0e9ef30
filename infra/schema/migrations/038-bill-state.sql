CREATE TABLE IF NOT EXISTS {database}.bill_state
(
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    known_at DateTime64(3, 'UTC') COMMENT 'files that were published until then have been looked at: they are in the bills, or have nothing of the period',
    failures UInt32 COMMENT 'failures in a row of computing the bills',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same in words',
    since DateTime64(3, 'UTC') COMMENT 'when it failed first',
    retry_at DateTime64(3, 'UTC') COMMENT 'when it is tried again',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
)
ENGINE = ReplacingMergeTree(recorded_at)
ORDER BY (billing_cycle_id, start_date)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Periods whose bills are computed without being asked for: how far, and why not; the latest row counts';
