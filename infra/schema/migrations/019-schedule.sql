CREATE TABLE IF NOT EXISTS {database}.schedule_version
(
    arrival UInt32 COMMENT 'number of the arrival',
    feed LowCardinality(String) COMMENT 'feed of the complete schedule',
    company_code LowCardinality(String) COMMENT 'company that it is for',
    first_start Date COMMENT 'first day on which one of its rows holds'
)
ENGINE = ReplacingMergeTree
ORDER BY (feed, company_code, arrival)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Versions of complete schedules, written before they are published';

CREATE OR REPLACE VIEW {database}.schedule_in_force
(
    arrival UInt64 COMMENT 'number of the arrival',
    feed String COMMENT 'feed of the complete schedule',
    company_code String COMMENT 'company that it is for',
    first_start Date COMMENT 'first day on which one of its rows holds',
    file_id String COMMENT 'sha256 of the file',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    replaced_from Date COMMENT 'rows that end on that day or later are replaced by a later version; the last day there is where there is none'
)
AS SELECT
    toUInt64(v.arrival) AS arrival, toString(v.feed) AS feed, toString(v.company_code) AS company_code, v.first_start AS first_start,
    f.file_id AS file_id, assumeNotNull(f.published_at) AS published_at,
    if(count() OVER later = 0, toDate('2149-06-06'), min(v.first_start) OVER later) AS replaced_from
FROM {database}.schedule_version AS v FINAL
INNER JOIN (SELECT arrival, file_id, published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f ON f.arrival = v.arrival
WINDOW later AS (PARTITION BY v.feed, v.company_code ORDER BY v.arrival ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
COMMENT 'Published versions of complete schedules and from when on each is replaced';
