CREATE TABLE IF NOT EXISTS {database}.holiday_row
(
    date Date COMMENT 'the holiday',
    name String COMMENT 'what it is called',
    rate_code String COMMENT 'rate code that it is for, empty where it is for all',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (date, rate_code, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind holiday: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.holiday
(
    date Date COMMENT 'the holiday',
    name String COMMENT 'what it is called',
    rate_code String COMMENT 'rate code that it is for, empty where it is for all',
    company_code String COMMENT 'company that the schedule is for',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    r.date AS date, r.name AS name, r.rate_code AS rate_code,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at
FROM (SELECT * FROM {database}.holiday_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'Holidays') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR r.date < f.replaced_from
COMMENT 'The holidays in force; a later version replaces the one before, of which rows that ended before it stay';
