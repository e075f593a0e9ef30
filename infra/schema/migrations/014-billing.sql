CREATE TABLE IF NOT EXISTS {database}.billing_period_row
(
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    billing_end_date Date COMMENT 'last day of the period',
    total_consumption Decimal(18, 6) COMMENT 'energy consumed in the period, as sent',
    usage_value Nullable(Decimal(18, 6)) COMMENT 'usage in billing units, NULL where not given',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars charged, NULL where not given',
    tax_amount Nullable(Decimal(18, 6)) COMMENT 'total of the taxes in dollars, NULL where not given',
    meter_effective_date Nullable(Date) COMMENT 'day on which the meter became active for the account, NULL where not given',
    document_number String COMMENT 'number of the billing document, empty where not given',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (account_number, meter_id, billing_start_date, document_number, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind billing_period: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.billing_period
(
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    billing_end_date Date COMMENT 'last day of the period',
    total_consumption Decimal(18, 6) COMMENT 'energy consumed in the period, as sent',
    usage_value Nullable(Decimal(18, 6)) COMMENT 'usage in billing units, NULL where not given',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars charged, NULL where not given',
    tax_amount Nullable(Decimal(18, 6)) COMMENT 'total of the taxes in dollars, NULL where not given',
    meter_effective_date Nullable(Date) COMMENT 'day on which the meter became active for the account, NULL where not given',
    document_number String COMMENT 'number of the billing document, empty where not given',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    account_number, latest.1 AS external_site_id, meter_id, billing_start_date, latest.2 AS billing_end_date, latest.3 AS total_consumption, latest.4 AS usage_value, latest.5 AS cost, latest.6 AS tax_amount, latest.7 AS meter_effective_date, document_number,
    latest.8 AS file_id, last_version AS version, latest.9 AS published_at
FROM
(
    SELECT account_number, meter_id, billing_start_date, document_number, max(version) AS last_version,
        argMax((external_site_id, billing_end_date, total_consumption, usage_value, cost, tax_amount, meter_effective_date, f.file_id, f.published_at), version) AS latest
    FROM {database}.billing_period_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, meter_id, billing_start_date, document_number
)
COMMENT 'What was billed: one current row for each account, meter, period start and document; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.billing_period_restatement
(
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    document_number String COMMENT 'number of the billing document, empty where not given',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same, by which increments are pulled'
)
AS SELECT account_number, meter_id, billing_start_date, document_number, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at
FROM
(
    SELECT account_number, meter_id, billing_start_date, document_number, version, map('external_site_id', toString(external_site_id), 'billing_end_date', toString(billing_end_date), 'total_consumption', toString(total_consumption), 'usage_value', ifNull(toString(usage_value), ''), 'cost', ifNull(toString(cost), ''), 'tax_amount', ifNull(toString(tax_amount), ''), 'meter_effective_date', ifNull(toString(meter_effective_date), '')) AS new, f.file_id AS new_file_id, f.published_at AS restated_at,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.billing_period_row LIMIT 1 BY account_number, meter_id, billing_start_date, document_number, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, meter_id, billing_start_date, document_number ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of billing_period that a later one of the same key replaced by other values';
