CREATE TABLE IF NOT EXISTS {database}.payment_plan_row
(
    account_number String COMMENT 'contract account',
    plan_type LowCardinality(String) COMMENT 'BudgetBilling or PaymentArrangement',
    start_date Date COMMENT 'first day of the plan',
    end_date Nullable(Date) COMMENT 'last day of the plan, NULL while it is open',
    installment_amount Nullable(Decimal(18, 6)) COMMENT 'dollars of an instalment, NULL where not given',
    status LowCardinality(String) COMMENT 'Active, Completed, Defaulted or Cancelled',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (account_number, plan_type, start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind payment_plan: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.payment_plan
(
    account_number String COMMENT 'contract account',
    plan_type LowCardinality(String) COMMENT 'BudgetBilling or PaymentArrangement',
    start_date Date COMMENT 'first day of the plan',
    end_date Nullable(Date) COMMENT 'last day of the plan, NULL while it is open',
    installment_amount Nullable(Decimal(18, 6)) COMMENT 'dollars of an instalment, NULL where not given',
    status LowCardinality(String) COMMENT 'Active, Completed, Defaulted or Cancelled',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    account_number, plan_type, start_date, latest.1 AS end_date, latest.2 AS installment_amount, latest.3 AS status,
    latest.4 AS file_id, last_version AS version, latest.5 AS published_at
FROM
(
    SELECT account_number, plan_type, start_date, max(version) AS last_version,
        argMax((end_date, installment_amount, status, f.file_id, f.published_at), version) AS latest
    FROM {database}.payment_plan_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, plan_type, start_date
)
COMMENT 'Customers on payment arrangements or budget billing: one current row for each account, plan and start; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.payment_plan_restatement
(
    account_number String COMMENT 'contract account',
    plan_type LowCardinality(String) COMMENT 'BudgetBilling or PaymentArrangement',
    start_date Date COMMENT 'first day of the plan',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same, by which increments are pulled'
)
AS SELECT account_number, plan_type, start_date, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at
FROM
(
    SELECT account_number, plan_type, start_date, version, map('end_date', ifNull(toString(end_date), ''), 'installment_amount', ifNull(toString(installment_amount), ''), 'status', toString(status)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.payment_plan_row LIMIT 1 BY account_number, plan_type, start_date, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, plan_type, start_date ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of payment_plan that a later one of the same key replaced by other values';
