CREATE TABLE IF NOT EXISTS {database}.bill_run_row{onCluster} (
    run String COMMENT 'id of the run; later runs sort after earlier ones',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    last_date Date COMMENT 'last day of the period',
    as_of Nullable(DateTime64(3, 'UTC')) COMMENT 'the run used reads as known at this instant; NULL for current reads',
    bills Map(String, UInt64) COMMENT 'number of bills by status',
    total Decimal(38, 6) COMMENT 'sum of the bills, dollars',
    usage_version UInt32 COMMENT 'highest arrival of a published file when the run began',
    known_at DateTime64(3, 'UTC') COMMENT 'when the newest file used by the run was published',
    rate_file_ids Array(String) COMMENT 'sha256 of the files whose rates and holidays were used',
    cycle_file_id String COMMENT 'sha256 of the file that contains the period',
    settings String COMMENT 'JSON: the profile''s billing settings',
    computed_at DateTime64(3, 'UTC') COMMENT 'when the run ended, by the clock of its worker'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (billing_cycle_id, start_date, run)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage of bill_run: written before the run is published';

CREATE OR REPLACE VIEW {database}.bill_run{onCluster} (
    run String COMMENT 'id of the run; later runs sort after earlier ones',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    last_date Date COMMENT 'last day of the period',
    as_of Nullable(DateTime64(3, 'UTC')) COMMENT 'the run used reads as known at this instant; NULL for current reads',
    bills Map(String, UInt64) COMMENT 'number of bills by status',
    total Decimal(38, 6) COMMENT 'sum of the bills, dollars',
    usage_version UInt32 COMMENT 'highest arrival of a published file when the run began',
    known_at DateTime64(3, 'UTC') COMMENT 'when the newest file used by the run was published',
    rate_file_ids Array(String) COMMENT 'sha256 of the files whose rates and holidays were used',
    cycle_file_id String COMMENT 'sha256 of the file that contains the period',
    settings String COMMENT 'JSON: the profile''s billing settings',
    computed_at DateTime64(3, 'UTC') COMMENT 'when the run ended, by the clock of its worker',
    published_at DateTime64(3, 'UTC') COMMENT 'when its bills became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.run AS run, r.billing_cycle_id AS billing_cycle_id, r.start_date AS start_date, r.last_date AS last_date, r.as_of AS as_of, r.bills AS bills, r.total AS total, r.usage_version AS usage_version, r.known_at AS known_at, r.rate_file_ids AS rate_file_ids, r.cycle_file_id AS cycle_file_id, r.settings AS settings, r.computed_at AS computed_at,
    p.published_at AS published_at, p.published_seq AS published_seq
FROM {database}.bill_run_row AS r FINAL
INNER JOIN (SELECT run, published_at, published_seq FROM {database}.publication WHERE run != '') AS p ON p.run = r.run
COMMENT 'Runs that computed bills, with their inputs; the publication of a run makes its bills visible';

CREATE TABLE IF NOT EXISTS {database}.bill_plan{onCluster} (
    run String COMMENT 'the run',
    plan UInt32 COMMENT 'number of the plan in its run',
    rate_codes Array(String) COMMENT 'rate codes, in order of their days',
    start_date Date COMMENT 'first day of the bill',
    last_date Date COMMENT 'last day of the bill',
    status LowCardinality(String) COMMENT 'empty, or why the plan has no price',
    reason String COMMENT 'the same as a sentence',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    unit LowCardinality(String) COMMENT 'unit of the prices',
    resolution UInt32 COMMENT 'the longest interval with a single price, seconds',
    components Array(String) COMMENT 'of each line: the component, empty for charges other than energy',
    names Array(String) COMMENT 'of each line: its name',
    kinds Array(String) COMMENT 'of each line: Energy, or the kind of a charge',
    tiers Array(UInt16) COMMENT 'of each line: the tier, 0 if none',
    taxable Array(UInt8) COMMENT 'of each line: whether percentage charges apply to it',
    file_ids Array(String) COMMENT 'of each line: sha256 of the file of its price',
    from_dates Array(Date) COMMENT 'of each line: its first day',
    to_dates Array(Date) COMMENT 'of each line: its last day',
    prices Array(Decimal(38, 9)) COMMENT 'of the first lines, those of energy: dollars for one unit',
    amounts Array(Decimal(38, 12)) COMMENT 'of the next lines, fixed charges: dollars',
    percents Array(Decimal(38, 9)) COMMENT 'of the last lines: percent of the taxable amount',
    minimum Nullable(Decimal(38, 12)) COMMENT 'minimum amount of a bill; the difference to it is the last line',
    day_starts Array(DateTime('UTC')) COMMENT 'start of each local day of the bill, then of all projected days as one, then the end',
    is_ahead Bool COMMENT 'whether the last of those days are projected',
    day_classes Array(Array(UInt16)) COMMENT 'of each of those days: the price class of each quarter hour, none where projected',
    line_classes Array(Array(UInt8)) COMMENT 'of each energy line: whether it prices a class',
    lowers Array(Int64) COMMENT 'of each energy line: usage above which it applies, millionths of a unit',
    uppers Array(Int64) COMMENT 'of each energy line: usage up to which it applies, millionths of a unit'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (run, plan)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Prices of bills: meters with the same rate codes and days share a plan';

CREATE TABLE IF NOT EXISTS {database}.bill_row{onCluster} (
    run String COMMENT 'the run' CODEC(ZSTD),
    plan UInt32 COMMENT 'number of the plan in its run',
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients that own the bill',
    start_date Date COMMENT 'first day of the bill',
    last_date Date COMMENT 'last day of the bill',
    status LowCardinality(String) COMMENT 'computed, projected, incomplete, or why there is no bill',
    reason String COMMENT 'the same as a sentence, empty if there is no problem',
    method LowCardinality(String) COMMENT 'how future days were estimated: recent, lastYear, none if they cannot be; empty if the bill has none',
    days_projected UInt16 COMMENT 'days of the bill that are projected',
    seconds UInt32 COMMENT 'length of the intervals in seconds, 0 if there are none',
    intervals_expected UInt32 COMMENT 'intervals of that length in the actual days of the bill',
    intervals_present UInt32 COMMENT 'intervals present',
    intervals_estimated UInt32 COMMENT 'those of them that are estimates of the sender',
    nem Bool COMMENT 'net metering: whether some interval is negative',
    quantity Decimal(18, 6) COMMENT 'quantity in the days of the bill, including projected days',
    unit LowCardinality(String) COMMENT 'unit of the quantity',
    read_unit LowCardinality(String) COMMENT 'unit of the reads',
    used_by_day Array(Array(Int64)) COMMENT 'of all usage, then of each energy line: what had filled it before the first day and by the end of each day of the plan, millionths of the unit' CODEC(Delta, ZSTD),
    quantities Array(Decimal(18, 6)) COMMENT 'quantity of each energy line',
    line_amounts Array(Decimal(18, 6)) COMMENT 'amount of each line, dollars',
    total Nullable(Decimal(18, 6)) COMMENT 'dollars; NULL if there is no bill'
) ENGINE = {engine:MergeTree}
ORDER BY (run, account_number, meter_id, start_date)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage of projected_bill: the bills of every run, including those replaced by a later run';

CREATE TABLE IF NOT EXISTS {database}.bill_variance_row{onCluster} (
    run String COMMENT 'the run' CODEC(ZSTD),
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    start_date Date COMMENT 'first day of the computed bill',
    last_date Date COMMENT 'last day of the computed bill',
    billed_start_date Date COMMENT 'first billed day, as sent',
    billed_end_date Date COMMENT 'last billed day, as sent',
    document_numbers Array(String) COMMENT 'numbers of the billing documents, empty strings if not given',
    unit LowCardinality(String) COMMENT 'unit of the quantities',
    bill_status LowCardinality(String) COMMENT 'status of the computed bill',
    quantity_billed Decimal(18, 6) COMMENT 'billed quantity',
    quantity_computed Decimal(18, 6) COMMENT 'quantity of the reads',
    quantity_status LowCardinality(String) COMMENT 'match, differs, incomplete or noUsage',
    quantity_causes Map(LowCardinality(String), Decimal(18, 6)) COMMENT 'the difference by cause',
    cost_billed Nullable(Decimal(18, 6)) COMMENT 'dollars billed, NULL if not given',
    cost_computed Nullable(Decimal(18, 6)) COMMENT 'dollars of the computed bill, NULL if there is none',
    cost_status LowCardinality(String) COMMENT 'match, differs, incomplete, notBilled or notComputed',
    cost_causes Map(LowCardinality(String), Decimal(18, 6)) COMMENT 'the difference by cause'
) ENGINE = {engine:MergeTree}
ORDER BY (run, account_number, meter_id, start_date)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage of bill_variance: computed and billed amounts of every run';

CREATE TABLE IF NOT EXISTS {database}.bill_state{onCluster} (
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    known_at DateTime64(3, 'UTC') COMMENT 'files published until then were considered: the bills include them, or they have no reads of the period',
    failures UInt32 COMMENT 'failures in a row of computing the bills',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same as a sentence',
    since DateTime64(3, 'UTC') COMMENT 'when it first failed',
    retry_at DateTime64(3, 'UTC') COMMENT 'when it is retried',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(recorded_at)}
ORDER BY (billing_cycle_id, start_date)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'State of billing periods that are computed automatically, with their last failure; the latest row counts';

CREATE OR REPLACE VIEW {database}.bill_run_current{onCluster} (
    run String COMMENT 'the run',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    published_at DateTime64(3, 'UTC') COMMENT 'when its bills became visible',
    published_seq UInt64 COMMENT 'number of its publication'
) AS SELECT one.1 AS run, billing_cycle_id, one.2 AS published_at, one.5 AS published_seq
FROM
(
    SELECT billing_cycle_id, groupArray((latest, at.1, start_date, last, at.2)) AS runs
    FROM
    (
        SELECT billing_cycle_id, start_date, max(run) AS latest, argMax(last_date, run) AS last, argMax((published_at, published_seq), run) AS at
        FROM {database}.bill_run
        WHERE as_of IS NULL
        GROUP BY billing_cycle_id, start_date
    )
    GROUP BY billing_cycle_id
)
ARRAY JOIN runs AS one
WHERE NOT arrayExists(r -> r.1 > one.1 AND one.3 + intDiv(one.4 - one.3, 2) BETWEEN r.3 AND r.4, runs)
COMMENT 'The latest run of each cycle and period, whose bills are current. If the schedule moved a period, a later run whose period contains the middle of an earlier one replaces it too';

CREATE OR REPLACE VIEW {database}.projected_bill{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients that own the bill',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    last_date Date COMMENT 'last day of the bill',
    commodity String COMMENT 'Electric or Gas, empty if the rate is not known',
    rate_codes Array(String) COMMENT 'rate codes, in order of their days',
    status String COMMENT 'computed; projected: the period has not ended; incomplete: less than 98 % of the intervals are present; otherwise why there is no bill: sparse (fewer intervals than the profile''s billing.presentShareMin), noUsage, noRate, noPrice, unit, notProjectable',
    reason String COMMENT 'the same as a sentence, empty if there is no problem',
    quantity Decimal(18, 6) COMMENT 'quantity in the days of the bill, including projected days, in unit',
    unit String COMMENT 'unit of the quantity, and of the prices if there is a bill',
    total Nullable(Decimal(18, 6)) COMMENT 'dollars; NULL if there is no bill',
    interval_seconds UInt32 COMMENT 'length of the intervals in seconds, 0 if there are none',
    intervals_expected UInt32 COMMENT 'intervals of that length in the actual days of the bill',
    intervals_present UInt32 COMMENT 'intervals present',
    intervals_estimated UInt32 COMMENT 'those of them that are estimates of the sender; their reads may still come',
    completeness Float64 COMMENT 'share of the expected intervals that are present',
    days UInt16 COMMENT 'days of the bill',
    days_actual UInt16 COMMENT 'days of the bill that are not projected',
    days_projected UInt16 COMMENT 'days of the bill that are projected',
    method String COMMENT 'estimation method of the projected days: recent (same hours of the same kind of day in the last 28 days), lastYear (same days 52 weeks earlier), none; empty if there are none',
    nem Bool COMMENT 'net metering: whether some interval is negative',
    run String COMMENT 'the run that computed it; bill_run has its inputs',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    b.account_number AS account_number, b.external_site_id AS external_site_id, b.meter_id AS meter_id, b.client_ids AS client_ids,
    r.billing_cycle_id AS billing_cycle_id, b.start_date AS start_date, b.last_date AS last_date,
    toString(p.commodity) AS commodity, p.rate_codes AS rate_codes, toString(b.status) AS status, b.reason AS reason,
    b.quantity AS quantity, toString(b.unit) AS unit, b.total AS total, b.seconds AS interval_seconds,
    b.intervals_expected AS intervals_expected, b.intervals_present AS intervals_present, b.intervals_estimated AS intervals_estimated,
    if(b.intervals_expected = 0, 0, b.intervals_present / b.intervals_expected) AS completeness,
    toUInt16(b.last_date - b.start_date + 1) AS days, toUInt16(days - b.days_projected) AS days_actual, b.days_projected AS days_projected, toString(b.method) AS method,
    b.nem AS nem, b.run AS run, r.published_at AS published_at, r.published_seq AS published_seq
FROM {database}.bill_row AS b
INNER JOIN {database}.bill_run_current AS r ON r.run = b.run
ANY LEFT JOIN {database}.bill_plan AS p ON p.run = b.run AND p.plan = b.plan
SETTINGS join_use_nulls = 0
COMMENT 'Bills computed from usage and rates by the latest run of each cycle and period, including bills that could not be computed, with the reason';

CREATE OR REPLACE VIEW {database}.projected_bill_line{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    meter_id String COMMENT 'permanent and unique meter identifier',
    start_date Date COMMENT 'first day of the bill',
    line_number UInt32 COMMENT 'number of the line on its bill',
    kind String COMMENT 'Energy, or the kind of a charge: Service, Facility, TaxPercent, TaxAmount, Program, Credit, Minimum',
    component String COMMENT 'component of the energy price, empty for other charges',
    name String COMMENT 'name of the window, tier or charge',
    tier UInt16 COMMENT 'tier, 0 if none',
    from_date Date COMMENT 'first day of the line',
    to_date Date COMMENT 'last day of the line',
    quantity Nullable(Decimal(18, 6)) COMMENT 'priced quantity, NULL for charges that do not depend on energy',
    unit String COMMENT 'unit of the quantity',
    price Nullable(Decimal(38, 9)) COMMENT 'dollars for one unit; for a percentage charge the percentage',
    amount Decimal(18, 6) COMMENT 'dollars',
    file_id String COMMENT 'sha256 of the file that contains the price: the rate version',
    run String COMMENT 'the run that computed it',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, meter_id, start_date, line_number, kind, component, name, tier, from_date, to_date,
    if(line_number <= length(quantities), quantities[line_number], NULL) AS quantity, unit,
    multiIf(line_number <= length(prices), prices[line_number], is_percent, percents[line_number - length(prices) - constants], NULL) AS price,
    amount, file_id, run, published_at, published_seq
FROM
(
    SELECT b.account_number AS account_number, b.meter_id AS meter_id, b.start_date AS start_date, b.quantities AS quantities,
        arrayJoin(arrayZip(arrayEnumerate(b.line_amounts), b.line_amounts, p.kinds, p.components, p.names, p.tiers, p.from_dates, p.to_dates, p.file_ids)) AS line,
        line.1 AS line_number, line.2 AS amount, line.3 AS kind, line.4 AS component, line.5 AS name, line.6 AS tier,
        line.7 AS from_date, line.8 AS to_date, line.9 AS file_id,
        p.prices AS prices, p.percents AS percents, length(p.amounts) AS constants,
        line_number > length(prices) + constants AND line_number <= length(prices) + constants + length(percents) AS is_percent,
        toString(p.unit) AS unit, b.run AS run, r.published_at AS published_at, r.published_seq AS published_seq
    FROM (SELECT * FROM {database}.bill_row WHERE total IS NOT NULL) AS b
    INNER JOIN {database}.bill_run_current AS r ON r.run = b.run
    INNER JOIN (SELECT * FROM {database}.bill_plan FINAL) AS p ON p.run = b.run AND p.plan = b.plan
)
WHERE kind != 'Minimum' OR amount != 0
COMMENT 'The lines of projected bills; they add up to the total, or with billing.rounding total to what it was rounded from';

CREATE OR REPLACE VIEW {database}.projected_bill_restatement{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    last_date Date COMMENT 'last day of the bill',
    old_status String COMMENT 'status before',
    new_status String COMMENT 'status after',
    old_quantity Decimal(18, 6) COMMENT 'quantity before',
    new_quantity Decimal(18, 6) COMMENT 'quantity after',
    old_unit String COMMENT 'unit of the quantity before',
    new_unit String COMMENT 'unit of the quantity after',
    old_total Nullable(Decimal(18, 6)) COMMENT 'dollars before; NULL if there was no bill',
    new_total Nullable(Decimal(18, 6)) COMMENT 'dollars after; NULL if there is no longer a bill',
    old_usage_version UInt32 COMMENT 'highest arrival of a published file when the old bill was computed',
    new_usage_version UInt32 COMMENT 'the same of the new bill; files that arrived between the two are only in the new bill',
    is_rate_changed Bool COMMENT 'whether the rates or holidays in force had changed between the two',
    old_run String COMMENT 'the run that computed the old bill; bill_run has its inputs',
    new_run String COMMENT 'the run that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new bill became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, external_site_id, meter_id, billing_cycle_id, start_date, last_date,
    before.1 AS old_status, toString(status) AS new_status, before.2 AS old_quantity, quantity AS new_quantity,
    before.7 AS old_unit, toString(unit) AS new_unit,
    before.3 AS old_total, total AS new_total, before.4 AS old_usage_version, usage_version AS new_usage_version,
    toBool(before.5 != rate_file_ids) AS is_rate_changed, before.6 AS old_run, run AS new_run,
    run_published_at AS restated_at, run_published_at AS published_at, published_seq
FROM
(
    SELECT b.*, r.billing_cycle_id AS billing_cycle_id, r.usage_version AS usage_version, r.rate_file_ids AS rate_file_ids, r.published_at AS run_published_at, r.published_seq AS published_seq,
        lagInFrame((toString(b.status), b.quantity, b.total, r.usage_version, r.rate_file_ids, b.run, toString(b.unit))) OVER one AS before,
        row_number() OVER one AS number
    FROM {database}.bill_row AS b
    INNER JOIN (SELECT * FROM {database}.bill_run WHERE as_of IS NULL AND toDate(computed_at, '{timeZone}') > last_date) AS r ON r.run = b.run
    WHERE b.status != 'projected'
    WINDOW one AS (PARTITION BY b.account_number, b.external_site_id, b.meter_id, if(b.account_number = '', b.client_ids, []), b.start_date ORDER BY b.run ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND (old_status != new_status OR old_quantity != new_quantity OR ifNull(old_total != new_total, isNull(old_total) != isNull(new_total)))
COMMENT 'Computed bills of ended periods that a later run replaced with different values; shows the effect of corrected reads and rates';

CREATE OR REPLACE VIEW {database}.bill_variance{onCluster} (
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the computed bill',
    last_date Date COMMENT 'last day of the computed bill',
    billed_start_date Date COMMENT 'first billed day, as sent',
    billed_end_date Date COMMENT 'last billed day, as sent',
    document_numbers Array(String) COMMENT 'numbers of the billing documents, empty strings if not given',
    unit String COMMENT 'unit of the quantities',
    bill_status String COMMENT 'status of the computed bill',
    quantity_billed Decimal(18, 6) COMMENT 'billed quantity',
    quantity_computed Decimal(18, 6) COMMENT 'quantity of the reads',
    quantity_difference Decimal(18, 6) COMMENT 'computed minus billed',
    quantity_status String COMMENT 'match: within the larger of 0.6 units and 0.5 %; differs; incomplete: less than 98 % of the intervals are present; noUsage',
    quantity_causes Map(String, Decimal(18, 6)) COMMENT 'the difference by cause: missingIntervals, periodBoundary (a day earlier or later), rounding, unexplained; the causes add up to it',
    cost_billed Nullable(Decimal(18, 6)) COMMENT 'dollars billed, NULL if not given',
    cost_computed Nullable(Decimal(18, 6)) COMMENT 'dollars of the computed bill, NULL if there is none',
    cost_difference Nullable(Decimal(18, 6)) COMMENT 'computed minus billed',
    cost_status String COMMENT 'match: within the larger of 5 cents and 0.5 %; differs; incomplete; notBilled: no cost was given; notComputed: see bill_status',
    cost_causes Map(String, Decimal(18, 6)) COMMENT 'the difference by cause: the causes of the quantity, rateVersion, tierDays, taxAndFees, budgetBilling (the instalment of a payment plan was billed), paymentArrangement (an instalment was added); they add up to it',
    run String COMMENT 'the run that computed it',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    v.account_number AS account_number, v.external_site_id AS external_site_id, v.meter_id AS meter_id,
    r.billing_cycle_id AS billing_cycle_id, v.start_date AS start_date, v.last_date AS last_date,
    v.billed_start_date AS billed_start_date, v.billed_end_date AS billed_end_date, v.document_numbers AS document_numbers,
    toString(v.unit) AS unit, toString(v.bill_status) AS bill_status,
    v.quantity_billed AS quantity_billed, v.quantity_computed AS quantity_computed,
    v.quantity_computed - v.quantity_billed AS quantity_difference, toString(v.quantity_status) AS quantity_status, v.quantity_causes AS quantity_causes,
    v.cost_billed AS cost_billed, v.cost_computed AS cost_computed,
    v.cost_computed - v.cost_billed AS cost_difference, toString(v.cost_status) AS cost_status, v.cost_causes AS cost_causes,
    v.run AS run, r.published_at AS published_at, r.published_seq AS published_seq
FROM {database}.bill_variance_row AS v
INNER JOIN {database}.bill_run_current AS r ON r.run = v.run
COMMENT 'Computed bills compared with the bills of the utility, by the latest run of each cycle and period, with the causes of each difference';

CREATE TABLE IF NOT EXISTS {database}.comparison_run_row{onCluster} (
    run String COMMENT 'id of the run; later runs sort after earlier ones',
    cycles Array(String) COMMENT 'billing cycles whose meters were compared, as text',
    last_dates Array(Date) COMMENT 'of each cycle: the last day that was compared',
    rate_codes Array(String) COMMENT 'rate codes in force that were compared',
    meters UInt64 COMMENT 'number of meters',
    comparisons Map(String, UInt64) COMMENT 'number of comparisons by status',
    usage_version UInt32 COMMENT 'highest arrival of a published file when the run began',
    rate_file_ids Array(String) COMMENT 'sha256 of the files whose rates and holidays were used',
    settings String COMMENT 'JSON: the profile''s billing settings'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY run
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage of comparison_run: written before the run is published';

CREATE OR REPLACE VIEW {database}.comparison_run{onCluster} (
    run String COMMENT 'id of the run; later runs sort after earlier ones',
    cycles Array(String) COMMENT 'billing cycles whose meters were compared, as text',
    last_dates Array(Date) COMMENT 'of each cycle: the last day that was compared',
    rate_codes Array(String) COMMENT 'rate codes in force that were compared',
    meters UInt64 COMMENT 'number of meters',
    comparisons Map(String, UInt64) COMMENT 'number of comparisons by status',
    usage_version UInt32 COMMENT 'highest arrival of a published file when the run began',
    rate_file_ids Array(String) COMMENT 'sha256 of the files whose rates and holidays were used',
    settings String COMMENT 'JSON: the profile''s billing settings',
    published_at DateTime64(3, 'UTC') COMMENT 'when its comparisons became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.run AS run, r.cycles AS cycles, r.last_dates AS last_dates, r.rate_codes AS rate_codes, r.meters AS meters, r.comparisons AS comparisons, r.usage_version AS usage_version, r.rate_file_ids AS rate_file_ids, r.settings AS settings,
    p.published_at AS published_at, p.published_seq AS published_seq
FROM {database}.comparison_run_row AS r FINAL
INNER JOIN (SELECT run, published_at, published_seq FROM {database}.publication WHERE run != '') AS p ON p.run = r.run
COMMENT 'Runs that compared rates, with their inputs; the publication of a run makes its comparisons visible';

CREATE TABLE IF NOT EXISTS {database}.rate_comparison_row{onCluster} (
    run String COMMENT 'the run',
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients that hold the meter',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle, as text',
    rate_code LowCardinality(String) COMMENT 'the rate that was compared',
    is_own Bool COMMENT 'whether it is the meter''s own rate on the last day',
    start_date Date COMMENT 'first day',
    last_date Date COMMENT 'last day',
    periods UInt16 COMMENT 'billing periods in the days',
    periods_priced UInt16 COMMENT 'periods that the total includes',
    status LowCardinality(String) COMMENT 'compared, incomplete, or why there is no total',
    reason String COMMENT 'the same as a sentence, empty if there is no problem',
    intervals_expected UInt32 COMMENT 'intervals expected in periods with reads',
    intervals_present UInt32 COMMENT 'intervals present',
    quantity Decimal(18, 6) COMMENT 'quantity of the days, in unit',
    unit LowCardinality(String) COMMENT 'kWh, ccf, cm or therm',
    total Nullable(Decimal(18, 6)) COMMENT 'dollars; NULL if there is no total'
) ENGINE = {engine:MergeTree}
PARTITION BY run
ORDER BY (meter_id, account_number, rate_code)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage of rate_comparison: the latest run, the previous one, and one in progress';

CREATE TABLE IF NOT EXISTS {database}.comparison_state{onCluster} (
    billing_cycle_id String COMMENT 'billing cycle, as text',
    failures UInt32 COMMENT 'failures in a row of comparing the rates of its meters',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same as a sentence',
    since DateTime64(3, 'UTC') COMMENT 'when it first failed',
    retry_at DateTime64(3, 'UTC') COMMENT 'when it is retried',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(recorded_at)}
ORDER BY billing_cycle_id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Cycles whose rates could not be compared, with the reason; the latest row counts';

CREATE OR REPLACE VIEW {database}.comparison_run_current{onCluster} (
    run String COMMENT 'the run',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    last_date Date COMMENT 'the last day that was compared',
    published_at DateTime64(3, 'UTC') COMMENT 'when its comparisons became visible',
    published_seq UInt64 COMMENT 'number of its publication'
) AS SELECT max(c.run) AS run, cycle.1 AS billing_cycle_id, argMax(cycle.2, c.run) AS last_date, argMax(c.published_at, c.run) AS published_at,
    argMax(c.published_seq, c.run) AS published_seq
FROM {database}.comparison_run AS c
ARRAY JOIN arrayZip(cycles, last_dates) AS cycle
WHERE cycle.1 IN (SELECT toString(billing_cycle_id) FROM {database}.tenancy FINAL)
GROUP BY billing_cycle_id
COMMENT 'The latest run that compared rates, for each cycle with registered meters';

CREATE OR REPLACE VIEW {database}.rate_comparison{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients that hold the meter',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    commodity String COMMENT 'Electric or Gas',
    rate_code String COMMENT 'the rate that was compared',
    is_own Bool COMMENT 'whether it is the meter''s own rate on the last day',
    start_date Date COMMENT 'first day: start of the first billing period of the last 12 months, or of the tenancy',
    last_date Date COMMENT 'last day: end of the latest billing period that had ended',
    days UInt16 COMMENT 'days from the first to the last',
    periods UInt16 COMMENT 'billing periods in the days',
    periods_priced UInt16 COMMENT 'periods that the total includes; periods without reads are left out',
    status String COMMENT 'compared; incomplete: intervals are missing, the same under every rate; otherwise why there is no total: sparse, noUsage, noRate, noPrice, unit, notProjectable',
    reason String COMMENT 'the same as a sentence, of the first period concerned; empty if there is no problem',
    intervals_expected UInt32 COMMENT 'intervals expected in periods with reads',
    intervals_present UInt32 COMMENT 'intervals present',
    quantity Decimal(18, 6) COMMENT 'quantity of the days, in unit',
    unit String COMMENT 'kWh, ccf, cm or therm',
    total Nullable(Decimal(18, 6)) COMMENT 'dollars: sum of the bills of the periods under this rate; NULL if there is no total',
    run String COMMENT 'the run that computed it; comparison_run has its inputs',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    c.account_number AS account_number, c.external_site_id AS external_site_id, c.meter_id AS meter_id, c.client_ids AS client_ids,
    toString(c.billing_cycle_id) AS billing_cycle_id, if(c.unit = 'kWh', 'Electric', 'Gas') AS commodity,
    toString(c.rate_code) AS rate_code, c.is_own AS is_own, c.start_date AS start_date, c.last_date AS last_date,
    toUInt16(c.last_date - c.start_date + 1) AS days, c.periods AS periods, c.periods_priced AS periods_priced,
    toString(c.status) AS status, c.reason AS reason, c.intervals_expected AS intervals_expected,
    c.intervals_present AS intervals_present, c.quantity AS quantity, toString(c.unit) AS unit, c.total AS total,
    c.run AS run, r.published_at AS published_at, r.published_seq AS published_seq
FROM {database}.rate_comparison_row AS c
INNER JOIN {database}.comparison_run_current AS r ON r.run = c.run AND r.billing_cycle_id = c.billing_cycle_id
COMMENT 'Cost of the last 12 months of each registered meter under every rate of its commodity, by the latest run of each cycle; if it could not be computed, with the reason';
