CREATE TABLE IF NOT EXISTS {database}.bill_line_row
(
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the billed period',
    line_number UInt32 COMMENT 'number of the line on its bill',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'what the line says',
    quantity Nullable(Decimal(18, 6)) COMMENT 'quantity that was priced, NULL where not given',
    unit_price Nullable(Decimal(18, 6)) COMMENT 'dollars for one unit, NULL where not given',
    amount Decimal(18, 6) COMMENT 'dollars',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (account_number, meter_id, billing_start_date, line_number, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind bill_line: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.bill_line
(
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the billed period',
    line_number UInt32 COMMENT 'number of the line on its bill',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'what the line says',
    quantity Nullable(Decimal(18, 6)) COMMENT 'quantity that was priced, NULL where not given',
    unit_price Nullable(Decimal(18, 6)) COMMENT 'dollars for one unit, NULL where not given',
    amount Decimal(18, 6) COMMENT 'dollars',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    account_number, meter_id, billing_start_date, line_number, latest.1 AS line_type, latest.2 AS description, latest.3 AS quantity, latest.4 AS unit_price, latest.5 AS amount,
    latest.6 AS file_id, last_version AS version, latest.7 AS published_at
FROM
(
    SELECT account_number, meter_id, billing_start_date, line_number, max(version) AS last_version,
        argMax((line_type, description, quantity, unit_price, amount, f.file_id, f.published_at), version) AS latest
    FROM {database}.bill_line_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, meter_id, billing_start_date, line_number
)
COMMENT 'The lines of bills: one current row for each account, meter, period start and line; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.bill_line_restatement
(
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the billed period',
    line_number UInt32 COMMENT 'number of the line on its bill',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same, by which increments are pulled'
)
AS SELECT account_number, meter_id, billing_start_date, line_number, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at
FROM
(
    SELECT account_number, meter_id, billing_start_date, line_number, version, map('line_type', toString(line_type), 'description', toString(description), 'quantity', ifNull(toString(quantity), ''), 'unit_price', ifNull(toString(unit_price), ''), 'amount', toString(amount)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.bill_line_row LIMIT 1 BY account_number, meter_id, billing_start_date, line_number, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, meter_id, billing_start_date, line_number ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of bill_line that a later one of the same key replaced by other values';
