CREATE TABLE IF NOT EXISTS {database}.invoice_line_row
(
    account_number String COMMENT 'contract account',
    invoice_number String COMMENT 'number of the invoice',
    invoice_date Date COMMENT 'day of the invoice',
    due_date Nullable(Date) COMMENT 'day on which it is due, NULL where not given',
    line_number UInt32 COMMENT 'number of the line on its invoice',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'what the line says',
    amount Decimal(18, 6) COMMENT 'dollars',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (invoice_number, line_number, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind invoice_line: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.invoice_line
(
    account_number String COMMENT 'contract account',
    invoice_number String COMMENT 'number of the invoice',
    invoice_date Date COMMENT 'day of the invoice',
    due_date Nullable(Date) COMMENT 'day on which it is due, NULL where not given',
    line_number UInt32 COMMENT 'number of the line on its invoice',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'what the line says',
    amount Decimal(18, 6) COMMENT 'dollars',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    latest.1 AS account_number, invoice_number, latest.2 AS invoice_date, latest.3 AS due_date, line_number, latest.4 AS line_type, latest.5 AS description, latest.6 AS amount,
    latest.7 AS file_id, last_version AS version, latest.8 AS published_at
FROM
(
    SELECT invoice_number, line_number, max(version) AS last_version,
        argMax((account_number, invoice_date, due_date, line_type, description, amount, f.file_id, f.published_at), version) AS latest
    FROM {database}.invoice_line_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY invoice_number, line_number
)
COMMENT 'The lines of invoices: one current row for each invoice and line; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.invoice_line_restatement
(
    invoice_number String COMMENT 'number of the invoice',
    line_number UInt32 COMMENT 'number of the line on its invoice',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same, by which increments are pulled'
)
AS SELECT invoice_number, line_number, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at
FROM
(
    SELECT invoice_number, line_number, version, map('account_number', toString(account_number), 'invoice_date', toString(invoice_date), 'due_date', ifNull(toString(due_date), ''), 'line_type', toString(line_type), 'description', toString(description), 'amount', toString(amount)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.invoice_line_row LIMIT 1 BY invoice_number, line_number, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY invoice_number, line_number ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of invoice_line that a later one of the same key replaced by other values';
