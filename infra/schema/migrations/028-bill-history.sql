CREATE OR REPLACE VIEW {database}.bill_history
(
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_start_date Date COMMENT 'first day of the period',
    billing_end_date Date COMMENT 'last day of the period',
    total_consumption Decimal(18, 6) COMMENT 'energy consumed in the period, as sent',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars charged, NULL where not given',
    document_number String COMMENT 'number of the billing document, empty where not given',
    state String COMMENT 'current; cancelled where another document takes the same quantity and cost back; cancellation: that document',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    account_number, external_site_id, meter_id, billing_start_date, billing_end_date, total_consumption, cost, document_number,
    if(number <= least(charges, credits), if(is_credit, 'cancellation', 'cancelled'), 'current') AS state,
    file_id, version, published_at
FROM
(
    SELECT *, total_consumption < 0 OR ifNull(cost < 0, 0) AS is_credit,
        countIf(is_credit) OVER same AS credits, countIf(NOT is_credit) OVER same AS charges,
        row_number() OVER (PARTITION BY account_number, meter_id, billing_start_date, billing_end_date,
            abs(total_consumption), ifNull(abs(cost), 0), is_credit ORDER BY version) AS number
    FROM {database}.billing_period
    WINDOW same AS (PARTITION BY account_number, meter_id, billing_start_date, billing_end_date,
        abs(total_consumption), ifNull(abs(cost), 0))
)
COMMENT 'Bills with what became of them: cancelled and rebilled documents of one period stand beside each other';

CREATE OR REPLACE VIEW {database}.bill_overlap
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    account_number String COMMENT 'contract account of the earlier row',
    billing_start_date Date COMMENT 'first day of its period',
    billing_end_date Date COMMENT 'last day of its period',
    document_number String COMMENT 'its billing document, empty where not given',
    other_account_number String COMMENT 'contract account of the later row',
    other_start_date Date COMMENT 'first day of its period',
    other_end_date Date COMMENT 'last day of its period',
    other_document_number String COMMENT 'its billing document, empty where not given',
    published_at DateTime64(3, 'UTC') COMMENT 'when the overlap became visible'
)
AS SELECT
    a.meter_id AS meter_id, a.account_number AS account_number, a.billing_start_date AS billing_start_date,
    a.billing_end_date AS billing_end_date, a.document_number AS document_number,
    b.account_number AS other_account_number, b.billing_start_date AS other_start_date,
    b.billing_end_date AS other_end_date, b.document_number AS other_document_number,
    greatest(a.published_at, b.published_at) AS published_at
FROM (SELECT * FROM {database}.bill_history WHERE state = 'current') AS a
INNER JOIN (SELECT * FROM {database}.bill_history WHERE state = 'current') AS b ON a.meter_id = b.meter_id
WHERE a.version < b.version AND a.billing_start_date < b.billing_end_date AND b.billing_start_date < a.billing_end_date
COMMENT 'Current bills of one meter whose periods overlap by more than the day on which one ends and the next begins';
