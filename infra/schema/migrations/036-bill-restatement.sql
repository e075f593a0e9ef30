CREATE OR REPLACE VIEW {database}.projected_bill_restatement
(
    account_number String COMMENT 'contract account, empty where the utility gives none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    last_date Date COMMENT 'last day of the bill',
    old_status String COMMENT 'status before',
    new_status String COMMENT 'status after',
    old_quantity Decimal(18, 6) COMMENT 'energy before',
    new_quantity Decimal(18, 6) COMMENT 'energy after',
    old_total Nullable(Decimal(18, 6)) COMMENT 'dollars before; NULL where there was no bill',
    new_total Nullable(Decimal(18, 6)) COMMENT 'dollars after; NULL where there is none any more',
    old_usage_version UInt32 COMMENT 'highest arrival of a published file when the old bill was computed',
    new_usage_version UInt32 COMMENT 'the same of the new bill: files that arrived between the two are in it alone',
    is_rate_changed Bool COMMENT 'whether the rates or holidays in force had changed between the two',
    old_run String COMMENT 'the run that computed the old bill, with its inputs in bill_run',
    new_run String COMMENT 'the run that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new bill became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same, by which increments are pulled'
)
AS SELECT
    account_number, external_site_id, meter_id, billing_cycle_id, start_date, last_date,
    before.1 AS old_status, toString(status) AS new_status, before.2 AS old_quantity, quantity AS new_quantity,
    before.3 AS old_total, total AS new_total, before.4 AS old_usage_version, usage_version AS new_usage_version,
    before.5 != rate_file_ids AS is_rate_changed, before.6 AS old_run, run AS new_run,
    run_published_at AS restated_at, run_published_at AS published_at
FROM
(
    SELECT b.*, r.billing_cycle_id AS billing_cycle_id, r.usage_version AS usage_version, r.rate_file_ids AS rate_file_ids, r.published_at AS run_published_at,
        lagInFrame((toString(b.status), b.quantity, b.total, r.usage_version, r.rate_file_ids, b.run)) OVER one AS before,
        row_number() OVER one AS number
    FROM {database}.bill_row AS b
    INNER JOIN (SELECT * FROM {database}.bill_run FINAL WHERE as_of IS NULL) AS r ON r.run = b.run
    WINDOW one AS (PARTITION BY b.account_number, b.external_site_id, b.meter_id, b.client_ids, b.start_date ORDER BY b.run ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND (old_status != new_status OR old_quantity != new_quantity OR ifNull(old_total != new_total, isNull(old_total) != isNull(new_total)))
COMMENT 'Computed bills that a later run of the same cycle and period replaced by other ones; corrections of reads and of rates are seen here';
