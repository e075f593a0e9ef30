CREATE TABLE IF NOT EXISTS {database}.rate_tou_row
(
    rate_code String COMMENT 'rate code',
    name String COMMENT 'name of the row',
    amount Decimal(18, 6) COMMENT 'dollars for one unit',
    start_hour Decimal(4, 2) COMMENT 'first hour, 19.5 being 19:30',
    end_hour Decimal(4, 2) COMMENT 'hour at which it ends, exclusive; not after the start where it goes over midnight',
    rate_start_date String COMMENT 'first day on which it holds, YYYY-MM-DD, or --MM-DD of every year',
    rate_end_date String COMMENT 'last day on which it holds, empty where it is open',
    day_type LowCardinality(String) COMMENT 'Weekday, Weekend, Holiday, WeekendHoliday or All',
    component LowCardinality(String) COMMENT 'part of the price that the row is, Energy by default',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (rate_code, component, name, day_type, start_hour, rate_start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_tou: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_tou
(
    rate_code String COMMENT 'rate code',
    name String COMMENT 'name of the row',
    amount Decimal(18, 6) COMMENT 'dollars for one unit',
    start_hour Decimal(4, 2) COMMENT 'first hour, 19.5 being 19:30',
    end_hour Decimal(4, 2) COMMENT 'hour at which it ends, exclusive; not after the start where it goes over midnight',
    rate_start_date String COMMENT 'first day on which it holds, YYYY-MM-DD, or --MM-DD of every year',
    rate_end_date String COMMENT 'last day on which it holds, empty where it is open',
    day_type LowCardinality(String) COMMENT 'Weekday, Weekend, Holiday, WeekendHoliday or All',
    component LowCardinality(String) COMMENT 'part of the price that the row is, Energy by default',
    company_code String COMMENT 'company that the schedule is for',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    r.rate_code AS rate_code, r.name AS name, r.amount AS amount, r.start_hour AS start_hour, r.end_hour AS end_hour, r.rate_start_date AS rate_start_date, r.rate_end_date AS rate_end_date, r.day_type AS day_type, r.component AS component,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at
FROM (SELECT * FROM {database}.rate_tou_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateTou') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR toDateOrZero(if(match(r.rate_end_date, '^[0-9]'), r.rate_end_date, '2149-06-06')) < f.replaced_from
COMMENT 'Time-of-use prices in force; a later version replaces the one before, of which rows that ended before it stay';
