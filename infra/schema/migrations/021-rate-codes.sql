CREATE TABLE IF NOT EXISTS {database}.rate_code_row
(
    rate_code String COMMENT 'rate code',
    description String COMMENT 'what the rate is',
    rate_type LowCardinality(String) COMMENT 'TOU, Tiered or Flat',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf or cm',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (rate_code, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_code: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_code
(
    rate_code String COMMENT 'rate code',
    description String COMMENT 'what the rate is',
    rate_type LowCardinality(String) COMMENT 'TOU, Tiered or Flat',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf or cm',
    company_code String COMMENT 'company that the schedule is for',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    r.rate_code AS rate_code, r.description AS description, r.rate_type AS rate_type, r.commodity AS commodity, r.unit_of_measure AS unit_of_measure,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at
FROM (SELECT * FROM {database}.rate_code_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateCodes') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06'
COMMENT 'The rate codes in force; a later version replaces the one before, of which rows that ended before it stay';
