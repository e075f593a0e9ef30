CREATE TABLE IF NOT EXISTS {database}.rate_flat_row
(
    rate_code String COMMENT 'rate code',
    amount Decimal(18, 6) COMMENT 'dollars for one unit',
    rate_start_date Date COMMENT 'first day on which it holds',
    rate_end_date Nullable(Date) COMMENT 'last day on which it holds, NULL where it is open',
    component LowCardinality(String) COMMENT 'part of the price that the row is, Energy by default',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (rate_code, component, rate_start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_flat: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_flat
(
    rate_code String COMMENT 'rate code',
    amount Decimal(18, 6) COMMENT 'dollars for one unit',
    rate_start_date Date COMMENT 'first day on which it holds',
    rate_end_date Nullable(Date) COMMENT 'last day on which it holds, NULL where it is open',
    component LowCardinality(String) COMMENT 'part of the price that the row is, Energy by default',
    company_code String COMMENT 'company that the schedule is for',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    r.rate_code AS rate_code, r.amount AS amount, r.rate_start_date AS rate_start_date, r.rate_end_date AS rate_end_date, r.component AS component,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at
FROM (SELECT * FROM {database}.rate_flat_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateFlat') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR ifNull(r.rate_end_date, toDate('2149-06-06')) < f.replaced_from
COMMENT 'Flat prices in force; a later version replaces the one before, of which rows that ended before it stay';
