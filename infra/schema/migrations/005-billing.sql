CREATE TABLE IF NOT EXISTS {database}.billing_period_row{onCluster} (
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    billing_end_date Date COMMENT 'last day of the period, as sent',
    total_consumption Decimal(18, 6) COMMENT 'energy consumed in the period, as sent',
    usage_value Nullable(Decimal(18, 6)) COMMENT 'usage in billing units, NULL where not given',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars charged, NULL where not given',
    tax_amount Nullable(Decimal(18, 6)) COMMENT 'total of the taxes in dollars, NULL where not given',
    meter_effective_date Nullable(Date) COMMENT 'day on which the meter became active for the account, NULL where not given',
    document_number String COMMENT 'number of the billing document, empty where not given',
    quality LowCardinality(String) COMMENT 'what the sender says of the period: asSent, estimated or substituted',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (account_number, meter_id, billing_start_date, document_number, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage behind billing_period: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.billing_period{onCluster} (
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    billing_end_date Date COMMENT 'last day of the period, as sent',
    total_consumption Decimal(18, 6) COMMENT 'energy consumed in the period, as sent',
    usage_value Nullable(Decimal(18, 6)) COMMENT 'usage in billing units, NULL where not given',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars charged, NULL where not given',
    tax_amount Nullable(Decimal(18, 6)) COMMENT 'total of the taxes in dollars, NULL where not given',
    meter_effective_date Nullable(Date) COMMENT 'day on which the meter became active for the account, NULL where not given',
    document_number String COMMENT 'number of the billing document, empty where not given',
    quality LowCardinality(String) COMMENT 'what the sender says of the period: asSent, estimated or substituted',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, latest.1 AS external_site_id, meter_id, billing_start_date, latest.2 AS billing_end_date, latest.3 AS total_consumption, latest.4 AS usage_value, latest.5 AS cost, latest.6 AS tax_amount, latest.7 AS meter_effective_date, document_number, latest.8 AS quality,
    latest.9 AS file_id, last_version AS version, latest.10 AS published_at, latest.11 AS published_seq
FROM
(
    SELECT account_number, meter_id, billing_start_date, document_number, max(version) AS last_version,
        argMax((external_site_id, billing_end_date, total_consumption, usage_value, cost, tax_amount, meter_effective_date, quality, f.file_id, f.published_at, f.published_seq), version) AS latest
    FROM {database}.billing_period_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, meter_id, billing_start_date, document_number
) AS v
COMMENT 'Bills of the utility: one current row for each account, meter, period start and document; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.billing_period_restatement{onCluster} (
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    document_number String COMMENT 'number of the billing document, empty where not given',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT account_number, meter_id, billing_start_date, document_number, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at, published_seq
FROM
(
    SELECT account_number, meter_id, billing_start_date, document_number, version, map('external_site_id', toString(external_site_id), 'billing_end_date', toString(billing_end_date), 'total_consumption', toString(total_consumption), 'usage_value', ifNull(toString(usage_value), ''), 'cost', ifNull(toString(cost), ''), 'tax_amount', ifNull(toString(tax_amount), ''), 'meter_effective_date', ifNull(toString(meter_effective_date), ''), 'quality', toString(quality)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at, f.published_seq AS published_seq,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.billing_period_row LIMIT 1 BY account_number, meter_id, billing_start_date, document_number, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, meter_id, billing_start_date, document_number ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of billing_period that a later row of the same key replaced with other values';

CREATE TABLE IF NOT EXISTS {database}.bill_line_row{onCluster} (
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the billed period',
    line_number UInt32 COMMENT 'number of the line on its bill',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'text of the line',
    quantity Nullable(Decimal(18, 6)) COMMENT 'priced quantity as sent, NULL where not given',
    unit_price Nullable(Decimal(38, 9)) COMMENT 'dollars for one unit, NULL where not given',
    amount Decimal(18, 6) COMMENT 'dollars',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (account_number, meter_id, billing_start_date, line_number, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage behind bill_line: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.bill_line{onCluster} (
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the billed period',
    line_number UInt32 COMMENT 'number of the line on its bill',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'text of the line',
    quantity Nullable(Decimal(18, 6)) COMMENT 'priced quantity as sent, NULL where not given',
    unit_price Nullable(Decimal(38, 9)) COMMENT 'dollars for one unit, NULL where not given',
    amount Decimal(18, 6) COMMENT 'dollars',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, meter_id, billing_start_date, line_number, latest.1 AS line_type, latest.2 AS description, latest.3 AS quantity, latest.4 AS unit_price, latest.5 AS amount,
    latest.6 AS file_id, last_version AS version, latest.7 AS published_at, latest.8 AS published_seq
FROM
(
    SELECT account_number, meter_id, billing_start_date, line_number, max(version) AS last_version,
        argMax((line_type, description, quantity, unit_price, amount, f.file_id, f.published_at, f.published_seq), version) AS latest
    FROM {database}.bill_line_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, meter_id, billing_start_date, line_number
) AS v
COMMENT 'The lines of bills: one current row for each account, meter, period start and line; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.bill_line_restatement{onCluster} (
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the billed period',
    line_number UInt32 COMMENT 'number of the line on its bill',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT account_number, meter_id, billing_start_date, line_number, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at, published_seq
FROM
(
    SELECT account_number, meter_id, billing_start_date, line_number, version, map('line_type', toString(line_type), 'description', toString(description), 'quantity', ifNull(toString(quantity), ''), 'unit_price', ifNull(toString(unit_price), ''), 'amount', toString(amount)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at, f.published_seq AS published_seq,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.bill_line_row LIMIT 1 BY account_number, meter_id, billing_start_date, line_number, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, meter_id, billing_start_date, line_number ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of bill_line that a later row of the same key replaced with other values';

CREATE TABLE IF NOT EXISTS {database}.invoice_line_row{onCluster} (
    account_number String COMMENT 'contract account',
    invoice_number String COMMENT 'number of the invoice',
    invoice_date Date COMMENT 'day of the invoice',
    due_date Nullable(Date) COMMENT 'day on which it is due, NULL where not given',
    line_number UInt32 COMMENT 'number of the line on its invoice',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'text of the line',
    amount Decimal(18, 6) COMMENT 'dollars',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4),
    is_end Bool COMMENT 'whether no line is under this key any more: a correction that is not stored, or that was erased, has moved it to another account'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (invoice_number, line_number, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage behind invoice_line: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.invoice_line{onCluster} (
    account_number String COMMENT 'contract account',
    invoice_number String COMMENT 'number of the invoice',
    invoice_date Date COMMENT 'day of the invoice',
    due_date Nullable(Date) COMMENT 'day on which it is due, NULL where not given',
    line_number UInt32 COMMENT 'number of the line on its invoice',
    line_type LowCardinality(String) COMMENT 'Energy, Delivery, Fixed, Tax, Rider, Program, Adjustment or Credit',
    description String COMMENT 'text of the line',
    amount Decimal(18, 6) COMMENT 'dollars',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    latest.1 AS account_number, invoice_number, latest.2 AS invoice_date, latest.3 AS due_date, line_number, latest.4 AS line_type, latest.5 AS description, latest.6 AS amount,
    latest.7 AS file_id, last_version AS version, latest.8 AS published_at, latest.9 AS published_seq
FROM
(
    SELECT invoice_number, line_number, max(version) AS last_version,
        argMax((account_number, invoice_date, due_date, line_type, description, amount, f.file_id, f.published_at, f.published_seq, is_end), version) AS latest
    FROM {database}.invoice_line_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY invoice_number, line_number
)
WHERE NOT latest.10
COMMENT 'The lines of invoices: one current row for each invoice and line; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.invoice_line_restatement{onCluster} (
    invoice_number String COMMENT 'number of the invoice',
    line_number UInt32 COMMENT 'number of the line on its invoice',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them, empty where it belongs to an account whose rows are not stored',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT invoice_number, line_number, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at, published_seq
FROM
(
    SELECT invoice_number, line_number, version, mapFilter((name, value) -> NOT is_end, map('account_number', toString(account_number), 'invoice_date', toString(invoice_date), 'due_date', ifNull(toString(due_date), ''), 'line_type', toString(line_type), 'description', toString(description), 'amount', toString(amount))) AS new, f.file_id AS new_file_id, f.published_at AS restated_at, f.published_seq AS published_seq,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.invoice_line_row LIMIT 1 BY invoice_number, line_number, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY invoice_number, line_number ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of invoice_line that a later row of the same key replaced with other values';

CREATE TABLE IF NOT EXISTS {database}.payment_plan_row{onCluster} (
    account_number String COMMENT 'contract account',
    plan_type LowCardinality(String) COMMENT 'BudgetBilling or PaymentArrangement',
    start_date Date COMMENT 'first day of the plan',
    end_date Nullable(Date) COMMENT 'last day of the plan, NULL while it is open',
    installment_amount Nullable(Decimal(18, 6)) COMMENT 'dollars of an instalment, NULL where not given',
    status LowCardinality(String) COMMENT 'Active, Completed, Defaulted or Cancelled',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (account_number, plan_type, start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage behind payment_plan: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.payment_plan{onCluster} (
    account_number String COMMENT 'contract account',
    plan_type LowCardinality(String) COMMENT 'BudgetBilling or PaymentArrangement',
    start_date Date COMMENT 'first day of the plan',
    end_date Nullable(Date) COMMENT 'last day of the plan, NULL while it is open',
    installment_amount Nullable(Decimal(18, 6)) COMMENT 'dollars of an instalment, NULL where not given',
    status LowCardinality(String) COMMENT 'Active, Completed, Defaulted or Cancelled',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, plan_type, start_date, latest.1 AS end_date, latest.2 AS installment_amount, latest.3 AS status,
    latest.4 AS file_id, last_version AS version, latest.5 AS published_at, latest.6 AS published_seq
FROM
(
    SELECT account_number, plan_type, start_date, max(version) AS last_version,
        argMax((end_date, installment_amount, status, f.file_id, f.published_at, f.published_seq), version) AS latest
    FROM {database}.payment_plan_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, plan_type, start_date
) AS v
COMMENT 'Customers on payment arrangements or budget billing: one current row for each account, plan and start; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.payment_plan_restatement{onCluster} (
    account_number String COMMENT 'contract account',
    plan_type LowCardinality(String) COMMENT 'BudgetBilling or PaymentArrangement',
    start_date Date COMMENT 'first day of the plan',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT account_number, plan_type, start_date, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at, published_seq
FROM
(
    SELECT account_number, plan_type, start_date, version, map('end_date', ifNull(toString(end_date), ''), 'installment_amount', ifNull(toString(installment_amount), ''), 'status', toString(status)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at, f.published_seq AS published_seq,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.payment_plan_row LIMIT 1 BY account_number, plan_type, start_date, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, plan_type, start_date ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of payment_plan that a later row of the same key replaced with other values';

CREATE TABLE IF NOT EXISTS {database}.termination_row{onCluster} (
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise, empty for all premises of the account',
    meter_id String COMMENT 'meter, empty for all meters of the account',
    termination_date Date COMMENT 'last day of the account',
    reason String COMMENT 'reason, empty where not given',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (account_number, external_site_id, meter_id, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage behind termination: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.termination{onCluster} (
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise, empty for all premises of the account',
    meter_id String COMMENT 'meter, empty for all meters of the account',
    termination_date Date COMMENT 'last day of the account',
    reason String COMMENT 'reason, empty where not given',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, external_site_id, meter_id, latest.1 AS termination_date, latest.2 AS reason,
    latest.3 AS file_id, last_version AS version, latest.4 AS published_at, latest.5 AS published_seq
FROM
(
    SELECT account_number, external_site_id, meter_id, max(version) AS last_version,
        argMax((termination_date, reason, f.file_id, f.published_at, f.published_seq), version) AS latest
    FROM {database}.termination_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, external_site_id, meter_id
) AS v
COMMENT 'Accounts that were closed: one current row for each account, premise and meter; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.termination_restatement{onCluster} (
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise, empty for all premises of the account',
    meter_id String COMMENT 'meter, empty for all meters of the account',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT account_number, external_site_id, meter_id, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at, published_seq
FROM
(
    SELECT account_number, external_site_id, meter_id, version, map('termination_date', toString(termination_date), 'reason', toString(reason)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at, f.published_seq AS published_seq,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.termination_row LIMIT 1 BY account_number, external_site_id, meter_id, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, external_site_id, meter_id ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of termination that a later row of the same key replaced with other values';

CREATE OR REPLACE VIEW {database}.bill_history{onCluster} (
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    billing_end_date Date COMMENT 'last day of the period, as sent',
    total_consumption Decimal(18, 6) COMMENT 'energy consumed in the period, as sent',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars charged, NULL where not given',
    document_number String COMMENT 'number of the billing document, empty where not given',
    state String COMMENT 'current; cancelled if a later document reverses its quantity and cost; cancellation: that later document',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, external_site_id, meter_id, billing_start_date, billing_end_date, total_consumption, cost, document_number,
    multiIf(reversal = 0, 'current', version < reversal, 'cancelled', 'cancellation') AS state,
    file_id, version, published_at, last_seq AS published_seq
FROM
(
    SELECT *, if(side > 0, credits, charges)[row_number() OVER (same_side ORDER BY version)] AS reversal
    FROM
    (
        SELECT *, sign(if(total_consumption != 0, total_consumption, ifNull(cost, 0))) AS side,
            side * total_consumption AS amount, side * ifNull(cost, 0) AS dollars,
            max(published_seq) OVER (PARTITION BY account_number, meter_id, billing_start_date) AS last_seq,
            arraySort(groupArrayIf(version, side > 0) OVER same) AS charges, arraySort(groupArrayIf(version, side < 0) OVER same) AS credits
        FROM {database}.billing_period
        WINDOW same AS (PARTITION BY account_number, meter_id, billing_start_date, billing_end_date, amount, dollars)
    )
    WINDOW same_side AS (PARTITION BY account_number, meter_id, billing_start_date, billing_end_date, amount, dollars, side)
) AS v
COMMENT 'Bills of the utility with their state; cancelled and rebilled documents of one period are separate rows';

CREATE OR REPLACE VIEW {database}.bill_overlap{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    account_number String COMMENT 'contract account of the earlier row',
    billing_start_date Date COMMENT 'first day of its period',
    billing_end_date Date COMMENT 'last day of its period, as sent',
    document_number String COMMENT 'its billing document, empty where not given',
    other_account_number String COMMENT 'contract account of the later row',
    other_start_date Date COMMENT 'first day of its period',
    other_end_date Date COMMENT 'last day of its period, as sent',
    other_document_number String COMMENT 'its billing document, empty where not given',
    published_at DateTime64(3, 'UTC') COMMENT 'when the overlap became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    a.meter_id AS meter_id, a.account_number AS account_number, a.billing_start_date AS billing_start_date,
    a.billing_end_date AS billing_end_date, a.document_number AS document_number,
    b.account_number AS other_account_number, b.billing_start_date AS other_start_date,
    b.billing_end_date AS other_end_date, b.document_number AS other_document_number,
    greatest(a.published_at, b.published_at) AS published_at, greatest(a.published_seq, b.published_seq) AS published_seq
FROM (SELECT * FROM {database}.bill_history WHERE state = 'current') AS a
INNER JOIN (SELECT * FROM {database}.bill_history WHERE state = 'current') AS b ON a.meter_id = b.meter_id
WHERE a.version < b.version AND a.billing_start_date < b.billing_end_date AND b.billing_start_date < a.billing_end_date
COMMENT 'Current bills of one meter whose periods overlap by more than the day on which one ends and the next begins';

CREATE OR REPLACE VIEW {database}.tenancy_hint{onCluster} (
    kind String COMMENT 'bill: the meter became active for the account; undated: bills said so once and, corrected, do no longer; ended: the account was terminated',
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise, empty for all',
    meter_id String COMMENT 'meter, empty for all',
    at DateTime('UTC') COMMENT 'instant of the start or end; of several starts the first one',
    last_at DateTime('UTC') COMMENT 'of several starts the last one',
    evidence_order UInt64 COMMENT 'order in which the evidence arrived',
    weight UInt32 COMMENT 'number of facts; of bills how many rows there ever were'
) AS
    SELECT if(empty(dates), 'undated', 'bill') AS kind, account_number, site AS external_site_id, meter_id,
        toTimeZone(toDateTime(arrayMin(dates), '{timeZone}'), 'UTC') AS at,
        toTimeZone(toDateTime(arrayMax(dates), '{timeZone}'), 'UTC') AS last_at, last_version AS evidence_order, weight
    FROM
    (
        SELECT account_number, meter_id, max(last_row) AS last_version, toUInt32(sum(rows)) AS weight,
            groupArray((latest.1, latest.2)) AS bills, arrayJoin(groupUniqArrayArray(dated)) AS site,
            arrayMap(b -> assumeNotNull(b.2), arrayFilter(b -> b.1 = site AND b.2 IS NOT NULL, bills)) AS dates
        FROM
        (
            SELECT account_number, meter_id, max(version) AS last_row, uniqExact(version) AS rows,
                argMax((external_site_id, meter_effective_date), version) AS latest,
                groupUniqArrayIf(external_site_id, meter_effective_date IS NOT NULL) AS dated
            FROM {database}.billing_period_row
            WHERE bitShiftRight(version, 32) IN (SELECT toUInt64(arrival) FROM {database}.publication WHERE arrival != 0)
            GROUP BY account_number, meter_id, billing_start_date, document_number
        )
        GROUP BY account_number, meter_id
    )
UNION ALL
    SELECT 'ended' AS kind, account_number, external_site_id, meter_id,
        toTimeZone(toDateTime(termination_date + 1, '{timeZone}'), 'UTC') AS at, at AS last_at, version AS evidence_order, toUInt32(1) AS weight
    FROM (SELECT * FROM {database}.termination_row LIMIT 1 BY version)
    WHERE bitShiftRight(version, 32) IN (SELECT toUInt64(arrival) FROM {database}.publication WHERE arrival != 0)
UNION ALL
    SELECT 'ended' AS kind, account_number, held.2 AS external_site_id, held.1 AS meter_id,
        ended_at AS at, ended_at AS last_at, toUInt64(18446744073709551615) AS evidence_order, held.5 AS weight
    FROM {database}.erasure FINAL
    ARRAY JOIN stretches AS held
    WHERE erased_at IS NOT NULL
COMMENT 'Evidence of bills, terminations and erasures for starts and ends of tenancies';
