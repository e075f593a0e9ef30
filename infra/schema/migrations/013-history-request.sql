CREATE TABLE IF NOT EXISTS {database}.history_request
(
    meter_id String COMMENT 'meter whose history is asked for',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    state LowCardinality(String) COMMENT 'open: to be asked for, or asked without an answer yet; answered, empty, failed',
    reason LowCardinality(String) COMMENT 'code of the fault that ended it, empty if none',
    arrival UInt32 COMMENT 'arrival of the file that the answer was made into; 0 where there is none',
    requested_at DateTime64(3, 'UTC') COMMENT 'when the meter was first registered, or registered again after a failure',
    version UInt32 COMMENT 'rank of what is known of the request; the highest counts',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY meter_id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'History that is asked of the MDM, written before it is called; one request for each meter';
