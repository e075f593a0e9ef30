ALTER TABLE {database}.bill_row
    ADD COLUMN IF NOT EXISTS unit LowCardinality(String) COMMENT 'unit of the quantity' AFTER quantity;

CREATE OR REPLACE VIEW {database}.bill_run_current
(
    run String COMMENT 'the run',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    published_at DateTime64(3, 'UTC') COMMENT 'when its bills became visible'
)
AS SELECT one.1 AS run, billing_cycle_id, one.2 AS published_at
FROM
(
    SELECT billing_cycle_id, groupArray((latest, at, start_date, last)) AS runs
    FROM
    (
        SELECT billing_cycle_id, start_date, max(run) AS latest, argMax(last_date, run) AS last, argMax(published_at, run) AS at
        FROM {database}.bill_run
        WHERE as_of IS NULL
        GROUP BY billing_cycle_id, start_date
    )
    GROUP BY billing_cycle_id
)
ARRAY JOIN runs AS one
WHERE NOT arrayExists(r -> r.1 > one.1 AND one.3 + intDiv(one.4 - one.3, 2) BETWEEN r.3 AND r.4, runs)
COMMENT 'The latest run of each cycle and period, whose bills are current; a later one of a period that has the middle of another replaces it, too: the schedule has moved it';

CREATE OR REPLACE VIEW {database}.projected_bill
(
    account_number String COMMENT 'contract account, empty where the utility gives none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients whose bill it is',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    last_date Date COMMENT 'last day of the bill',
    commodity String COMMENT 'Electric or Gas, empty where the rate is not known',
    rate_codes Array(String) COMMENT 'rate codes in the order of their days',
    status String COMMENT 'billed; projected: of a period that has not ended; incomplete: less than 98 % of the intervals are there; else why there is no bill: sparse (fewer than the profile''s billing.presentShareMin are there), noUsage, noRate, noPrice, unit, notProjectable',
    reason String COMMENT 'the same in words, empty where all is well',
    quantity Decimal(18, 6) COMMENT 'energy in the days of the bill, projected ones too, in unit',
    unit String COMMENT 'unit of the quantity, and of the prices where there is a bill',
    total Nullable(Decimal(18, 6)) COMMENT 'dollars; NULL where there is no bill',
    interval_seconds UInt32 COMMENT 'length of the intervals, 0 where there are none',
    intervals_expected UInt32 COMMENT 'intervals of that length in the days of the bill that are not projected',
    intervals_present UInt32 COMMENT 'intervals that are there',
    completeness Float64 COMMENT 'share of the intervals that are there',
    days UInt16 COMMENT 'days of the bill',
    days_actual UInt16 COMMENT 'days of the bill that are behind',
    days_projected UInt16 COMMENT 'days of the bill that are projected',
    method String COMMENT 'how those were told: recent, by the same hours of the same kind of days of the last 28; lastYear, by the same days 52 weeks earlier; none; empty where there are none',
    nem Bool COMMENT 'whether energy was fed in: some interval is negative',
    run String COMMENT 'the run that computed it, with its inputs in bill_run',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible'
)
AS SELECT
    b.account_number AS account_number, b.external_site_id AS external_site_id, b.meter_id AS meter_id, b.client_ids AS client_ids,
    r.billing_cycle_id AS billing_cycle_id, b.start_date AS start_date, b.last_date AS last_date,
    toString(p.commodity) AS commodity, p.rate_codes AS rate_codes, toString(b.status) AS status, b.reason AS reason,
    b.quantity AS quantity, if(b.unit = '', toString(p.unit), toString(b.unit)) AS unit, b.total AS total, b.seconds AS interval_seconds,
    b.intervals_expected AS intervals_expected, b.intervals_present AS intervals_present,
    if(b.intervals_expected = 0, 0, b.intervals_present / b.intervals_expected) AS completeness,
    toUInt16(b.last_date - b.start_date + 1) AS days, toUInt16(days - b.days_projected) AS days_actual, b.days_projected AS days_projected, toString(b.method) AS method,
    b.nem AS nem, b.run AS run, r.published_at AS published_at
FROM {database}.bill_row AS b
INNER JOIN {database}.bill_run_current AS r ON r.run = b.run
ANY LEFT JOIN {database}.bill_plan AS p ON p.run = b.run AND p.plan = b.plan
COMMENT 'Bills computed from usage and rates, of the latest run of each cycle and period; also those that could not be computed, with the reason';

ALTER TABLE {database}.comparison_run
    ADD COLUMN IF NOT EXISTS last_dates Array(Date) COMMENT 'of each of the cycles the last day that was compared' AFTER cycles;

CREATE OR REPLACE VIEW {database}.comparison_run_current
(
    run String COMMENT 'the run',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    last_date Date COMMENT 'the last day that was compared',
    published_at DateTime64(3, 'UTC') COMMENT 'when its comparisons became visible'
)
AS SELECT max(c.run) AS run, cycle.1 AS billing_cycle_id, argMax(cycle.2, c.run) AS last_date, argMax(c.published_at, c.run) AS published_at
FROM {database}.comparison_run AS c
ARRAY JOIN arrayZip(cycles, arrayResize(last_dates, length(cycles))) AS cycle
WHERE cycle.1 IN (SELECT toString(billing_cycle_id) FROM {database}.tenancy FINAL)
GROUP BY billing_cycle_id
COMMENT 'The latest run that compared rates for each cycle that registered meters have';

CREATE OR REPLACE VIEW {database}.rate_comparison
(
    account_number String COMMENT 'contract account, empty where the utility gives none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients whose meter it is',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    commodity String COMMENT 'Electric or Gas',
    rate_code String COMMENT 'the rate that was tried',
    is_own Bool COMMENT 'whether it is the meter''s own rate at the end of the days',
    start_date Date COMMENT 'first day: that of the first billing period of the last 12 months, or the one on which the tenancy began',
    last_date Date COMMENT 'last day: that of the latest billing period that had ended',
    days UInt16 COMMENT 'days from the first to the last',
    periods UInt16 COMMENT 'billing periods in the days',
    periods_priced UInt16 COMMENT 'those that the total is the sum of; a period without any read is none of them',
    status String COMMENT 'compared; incomplete: intervals are missing, under every rate the same; else why there is no total: sparse, noUsage, noRate, noPrice, unit, notProjectable',
    reason String COMMENT 'the same in words, of the first period that it is true of; empty where all is well',
    intervals_expected UInt32 COMMENT 'intervals in the periods that have any',
    intervals_present UInt32 COMMENT 'intervals that are there',
    quantity Decimal(18, 6) COMMENT 'energy of the days, in unit',
    unit String COMMENT 'kWh, ccf or cm',
    total Nullable(Decimal(18, 6)) COMMENT 'dollars: the sum of the bills of the periods under this rate; NULL where there is no total',
    run String COMMENT 'the run that computed it, with its inputs in comparison_run',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible'
)
AS SELECT
    c.account_number AS account_number, c.external_site_id AS external_site_id, c.meter_id AS meter_id, c.client_ids AS client_ids,
    toString(c.billing_cycle_id) AS billing_cycle_id, if(c.unit = 'kWh', 'Electric', 'Gas') AS commodity,
    toString(c.rate_code) AS rate_code, c.is_own AS is_own, c.start_date AS start_date, c.last_date AS last_date,
    toUInt16(c.last_date - c.start_date + 1) AS days, c.periods AS periods, c.periods_priced AS periods_priced,
    toString(c.status) AS status, c.reason AS reason, c.intervals_expected AS intervals_expected,
    c.intervals_present AS intervals_present, c.quantity AS quantity, toString(c.unit) AS unit, c.total AS total,
    c.run AS run, r.published_at AS published_at
FROM {database}.rate_comparison_row AS c
INNER JOIN {database}.comparison_run_current AS r ON r.run = c.run AND r.billing_cycle_id = c.billing_cycle_id
COMMENT 'What the last 12 months of each registered meter would have cost under every rate of its commodity, of the latest run of each cycle; also where that could not be told, with the reason';

CREATE TABLE IF NOT EXISTS {database}.comparison_state
(
    billing_cycle_id String COMMENT 'billing cycle, as text',
    failures UInt32 COMMENT 'failures in a row of comparing the rates of its meters',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same in words',
    since DateTime64(3, 'UTC') COMMENT 'when it failed first',
    retry_at DateTime64(3, 'UTC') COMMENT 'when it is tried again',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
)
ENGINE = ReplacingMergeTree(recorded_at)
ORDER BY billing_cycle_id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Cycles whose rates could not be compared, and why not; the latest row counts';

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
WHERE replaced_from = '2149-06-06' OR if(is_exclusive, end_date - 1, end_date) < replaced_from
COMMENT 'The billing cycle schedule in force: one row for each cycle and period; a later version replaces the one before, of which rows that ended before it stay';
