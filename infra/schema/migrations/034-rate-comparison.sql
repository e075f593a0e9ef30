CREATE TABLE IF NOT EXISTS {database}.comparison_run
(
    run String COMMENT 'identifies the run; later runs sort behind earlier ones',
    cycles Array(String) COMMENT 'billing cycles whose meters were compared, as text',
    rate_codes Array(String) COMMENT 'rate codes in force, under which they were compared',
    meters UInt64 COMMENT 'number of meters',
    comparisons Map(String, UInt64) COMMENT 'number of comparisons by status',
    usage_version UInt32 COMMENT 'highest arrival of a published file when the run began',
    rate_file_ids Array(String) COMMENT 'sha256 of the files whose rates and holidays were used',
    settings String COMMENT 'JSON: the profile''s billing settings',
    published_at DateTime64(3, 'UTC') COMMENT 'when its comparisons became visible'
)
ENGINE = ReplacingMergeTree
ORDER BY run
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Runs that compared rates and what each was made from; the row is written last and makes its comparisons visible';

CREATE TABLE IF NOT EXISTS {database}.rate_comparison_row
(
    run String COMMENT 'the run',
    account_number String COMMENT 'contract account, empty where the utility gives none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients whose meter it is',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle, as text',
    rate_code LowCardinality(String) COMMENT 'the rate that was tried',
    is_own Bool COMMENT 'whether it is the meter''s own rate at the end of the days',
    start_date Date COMMENT 'first day',
    last_date Date COMMENT 'last day',
    periods UInt16 COMMENT 'billing periods in the days',
    periods_priced UInt16 COMMENT 'those that the total is the sum of',
    status LowCardinality(String) COMMENT 'compared, incomplete, or why there is no total',
    reason String COMMENT 'the same in words, empty where all is well',
    intervals_expected UInt32 COMMENT 'intervals in the periods that have any',
    intervals_present UInt32 COMMENT 'intervals that are there',
    quantity Decimal(18, 6) COMMENT 'energy of the days, in unit',
    unit LowCardinality(String) COMMENT 'kWh, ccf or cm',
    total Nullable(Decimal(18, 6)) COMMENT 'dollars; NULL where there is no total'
)
ENGINE = MergeTree
PARTITION BY run
ORDER BY (meter_id, account_number, rate_code)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_comparison: the latest run, the one before, and one that is not whole yet';

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
AS WITH (SELECT (max(c.run), argMax(c.published_at, c.run)) FROM {database}.comparison_run AS c) AS latest
SELECT
    account_number, external_site_id, meter_id, client_ids, toString(billing_cycle_id) AS billing_cycle_id,
    if(unit = 'kWh', 'Electric', 'Gas') AS commodity, toString(rate_code) AS rate_code, is_own, start_date, last_date,
    toUInt16(last_date - start_date + 1) AS days, periods, periods_priced, toString(status) AS status, reason,
    intervals_expected, intervals_present, quantity, toString(unit) AS unit, total, run, latest.2 AS published_at
FROM {database}.rate_comparison_row
WHERE run = latest.1
COMMENT 'What the last 12 months of each registered meter would have cost under every rate of its commodity, of the latest run; also where that could not be told, with the reason';
