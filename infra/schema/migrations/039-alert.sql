CREATE TABLE IF NOT EXISTS {database}.alert
(
    key String COMMENT 'what is the matter with what, such as source:mdm; the same as long as it lasts',
    told UInt32 COMMENT 'number of the message about it: 1, 2, 3 ...; the highest is the latest',
    version UInt32 COMMENT 'rank of what is known of the message; the highest counts',
    claim String COMMENT 'who claimed the attempt: a random id of it',
    state LowCardinality(String) COMMENT 'raised or resolved',
    body String COMMENT 'the message as it is sent, JSON; its id is that of every attempt',
    attempts UInt32 COMMENT 'attempts at sending it, the one that was claimed last included',
    outcome LowCardinality(String) COMMENT 'open: to be sent, perhaps again; delivered, refused, failed (after too many attempts)',
    status UInt16 COMMENT 'HTTP status of the answer that ended it, 0 where there was none',
    told_at DateTime64(3, 'UTC') COMMENT 'when the message was made',
    retry_at DateTime64(3, 'UTC') COMMENT 'when an open message is sent again',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (key, told)
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What the receiver of alerts was told; an attempt is claimed before it is made, by its insert token';
