CREATE TABLE IF NOT EXISTS {database}.billing_cycle_row
(
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    end_date Date COMMENT 'end of the period, as sent',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (billing_cycle_id, start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind billing_cycle: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.billing_cycle
(
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    end_date Date COMMENT 'end of the period, as sent',
    last_date Date COMMENT 'last day of the period, whether end dates are sent inclusive or exclusive',
    company_code String COMMENT 'company that the schedule is for',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    billing_cycle_id, start_date, end_date, if(is_exclusive, end_date - 1, end_date) AS last_date,
    company_code, file_id, version, published_at
FROM
(
    SELECT *, max(next_start = end_date) OVER (PARTITION BY company_code, billing_cycle_id, arrival) AS is_exclusive
    FROM
    (
        SELECT r.billing_cycle_id AS billing_cycle_id, r.start_date AS start_date, r.end_date AS end_date, r.version AS version,
            f.company_code AS company_code, f.file_id AS file_id, f.published_at AS published_at, f.arrival AS arrival, f.replaced_from AS replaced_from,
            leadInFrame(r.start_date) OVER (PARTITION BY f.arrival, r.billing_cycle_id ORDER BY r.start_date ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_start
        FROM (SELECT * FROM {database}.billing_cycle_row LIMIT 1 BY version) AS r
        INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'BillingCycles') AS f ON f.arrival = bitShiftRight(r.version, 32)
    )
)
WHERE replaced_from = '2149-06-06' OR end_date < replaced_from
COMMENT 'The billing cycle schedule in force: one row for each cycle and period; a later version replaces the one before, of which rows that ended before it stay';
