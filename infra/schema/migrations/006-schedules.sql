CREATE TABLE IF NOT EXISTS {database}.schedule_version{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival',
    feed LowCardinality(String) COMMENT 'feed of the complete schedule',
    company_code LowCardinality(String) COMMENT 'company of the schedule',
    first_start Date COMMENT 'first day on which one of its rows is in force'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (feed, company_code, arrival)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Versions of complete schedules, written before they are published';

CREATE OR REPLACE VIEW {database}.schedule_in_force{onCluster} (
    arrival UInt64 COMMENT 'number of the arrival',
    feed String COMMENT 'feed of the complete schedule',
    company_code String COMMENT 'company of the schedule',
    first_start Date COMMENT 'first day on which one of its rows is in force',
    file_id String COMMENT 'sha256 of the file',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of its publication',
    replaced_from Date COMMENT 'a later version replaces rows that end on or after this day; the maximum date if there is no later version'
) AS SELECT
    toUInt64(v.arrival) AS arrival, toString(v.feed) AS feed, toString(v.company_code) AS company_code, v.first_start AS first_start,
    f.file_id AS file_id, f.published_at AS published_at, f.published_seq AS published_seq,
    if(count() OVER later = 0, toDate('2149-06-06'), min(v.first_start) OVER later) AS replaced_from
FROM {database}.schedule_version AS v FINAL
INNER JOIN (SELECT arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f ON f.arrival = v.arrival
WINDOW later AS (PARTITION BY v.feed, v.company_code ORDER BY v.arrival ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
COMMENT 'Published versions of complete schedules, and the day from which each is replaced';

CREATE TABLE IF NOT EXISTS {database}.billing_cycle_row{onCluster} (
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    end_date Date COMMENT 'end of the period, as sent',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (billing_cycle_id, start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind billing_cycle: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.billing_cycle{onCluster} (
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the period',
    end_date Date COMMENT 'end of the period, as sent',
    last_date Date COMMENT 'last day of the period, inclusive, however the utility sends end dates',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    billing_cycle_id, start_date, end_date, if(is_exclusive, end_date - 1, end_date) AS last_date,
    company_code, file_id, version, published_at, published_seq
FROM
(
    SELECT *, max(next_start = end_date) OVER (PARTITION BY company_code, billing_cycle_id, arrival) AS is_exclusive
    FROM
    (
        SELECT r.billing_cycle_id AS billing_cycle_id, r.start_date AS start_date, r.end_date AS end_date, r.version AS version,
            f.company_code AS company_code, f.file_id AS file_id, f.published_at AS published_at, f.published_seq AS published_seq, f.arrival AS arrival, f.replaced_from AS replaced_from,
            leadInFrame(r.start_date) OVER (PARTITION BY f.arrival, r.billing_cycle_id ORDER BY r.start_date ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_start
        FROM (SELECT * FROM {database}.billing_cycle_row LIMIT 1 BY version) AS r
        INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'BillingCycles') AS f ON f.arrival = bitShiftRight(r.version, 32)
    )
)
WHERE replaced_from = '2149-06-06' OR if(is_exclusive, end_date - 1, end_date) < replaced_from
COMMENT 'The billing cycle schedule in force: one row for each cycle and period; a later version replaces the one before, of which rows that ended before it stay';

CREATE TABLE IF NOT EXISTS {database}.rate_code_row{onCluster} (
    rate_code String COMMENT 'rate code',
    description String COMMENT 'description of the rate',
    rate_type LowCardinality(String) COMMENT 'TOU, Tiered or Flat',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf, cm or therm',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (rate_code, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_code: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_code{onCluster} (
    rate_code String COMMENT 'rate code',
    description String COMMENT 'description of the rate',
    rate_type LowCardinality(String) COMMENT 'TOU, Tiered or Flat',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf, cm or therm',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.rate_code AS rate_code, r.description AS description, r.rate_type AS rate_type, r.commodity AS commodity, r.unit_of_measure AS unit_of_measure,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_code_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateCodes') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06'
COMMENT 'The rate codes in force; a later version replaces the one before, of which rows that ended before it stay';

CREATE TABLE IF NOT EXISTS {database}.rate_tou_row{onCluster} (
    rate_code String COMMENT 'rate code',
    name String COMMENT 'name of the row',
    amount Decimal(38, 9) COMMENT 'dollars for one unit',
    start_hour Decimal(4, 2) COMMENT 'first hour, 19.5 being 19:30',
    end_hour Decimal(4, 2) COMMENT 'end hour, exclusive; a window whose end is not after its start spans midnight',
    rate_start_date String COMMENT 'first day in force, YYYY-MM-DD, or --MM-DD of every year',
    rate_end_date String COMMENT 'last day in force, empty if open-ended',
    day_type LowCardinality(String) COMMENT 'Weekday, Weekend, Holiday, WeekendHoliday or All',
    component LowCardinality(String) COMMENT 'component of the price, Energy by default',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (rate_code, component, name, day_type, start_hour, rate_start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_tou: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_tou{onCluster} (
    rate_code String COMMENT 'rate code',
    name String COMMENT 'name of the row',
    amount Decimal(38, 9) COMMENT 'dollars for one unit',
    start_hour Decimal(4, 2) COMMENT 'first hour, 19.5 being 19:30',
    end_hour Decimal(4, 2) COMMENT 'end hour, exclusive; a window whose end is not after its start spans midnight',
    rate_start_date String COMMENT 'first day in force, YYYY-MM-DD, or --MM-DD of every year',
    rate_end_date String COMMENT 'last day in force, empty if open-ended',
    day_type LowCardinality(String) COMMENT 'Weekday, Weekend, Holiday, WeekendHoliday or All',
    component LowCardinality(String) COMMENT 'component of the price, Energy by default',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.rate_code AS rate_code, r.name AS name, r.amount AS amount, r.start_hour AS start_hour, r.end_hour AS end_hour, r.rate_start_date AS rate_start_date, r.rate_end_date AS rate_end_date, r.day_type AS day_type, r.component AS component,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_tou_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateTou') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR toDateOrZero(if(match(r.rate_end_date, '^[0-9]'), r.rate_end_date, '2149-06-06')) < f.replaced_from
COMMENT 'Time-of-use prices in force; a later version replaces the one before, of which rows that ended before it stay';

CREATE TABLE IF NOT EXISTS {database}.rate_tier_row{onCluster} (
    rate_code String COMMENT 'rate code',
    tier UInt32 COMMENT 'number of the tier',
    daily_prorate_factor Nullable(Decimal(18, 6)) COMMENT 'upper limit in units a day, NULL where unlimited',
    amount Decimal(38, 9) COMMENT 'dollars for one unit',
    rate_start_date Date COMMENT 'first day in force',
    rate_end_date Nullable(Date) COMMENT 'last day in force, NULL where open-ended',
    period_limit Nullable(Decimal(18, 6)) COMMENT 'upper limit in units for the whole period, NULL where unlimited',
    component LowCardinality(String) COMMENT 'component of the price, Energy by default',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (rate_code, component, tier, rate_start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_tier: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_tier{onCluster} (
    rate_code String COMMENT 'rate code',
    tier UInt32 COMMENT 'number of the tier',
    daily_prorate_factor Nullable(Decimal(18, 6)) COMMENT 'upper limit in units a day, NULL where unlimited',
    amount Decimal(38, 9) COMMENT 'dollars for one unit',
    rate_start_date Date COMMENT 'first day in force',
    rate_end_date Nullable(Date) COMMENT 'last day in force, NULL where open-ended',
    period_limit Nullable(Decimal(18, 6)) COMMENT 'upper limit in units for the whole period, NULL where unlimited',
    component LowCardinality(String) COMMENT 'component of the price, Energy by default',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.rate_code AS rate_code, r.tier AS tier, r.daily_prorate_factor AS daily_prorate_factor, r.amount AS amount, r.rate_start_date AS rate_start_date, r.rate_end_date AS rate_end_date, r.period_limit AS period_limit, r.component AS component,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_tier_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateTiers') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR ifNull(r.rate_end_date, toDate('2149-06-06')) < f.replaced_from
COMMENT 'Tiered prices in force; a later version replaces the one before, of which rows that ended before it stay';

CREATE TABLE IF NOT EXISTS {database}.rate_flat_row{onCluster} (
    rate_code String COMMENT 'rate code',
    amount Decimal(38, 9) COMMENT 'dollars for one unit',
    rate_start_date Date COMMENT 'first day in force',
    rate_end_date Nullable(Date) COMMENT 'last day in force, NULL where open-ended',
    component LowCardinality(String) COMMENT 'component of the price, Energy by default',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (rate_code, component, rate_start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_flat: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_flat{onCluster} (
    rate_code String COMMENT 'rate code',
    amount Decimal(38, 9) COMMENT 'dollars for one unit',
    rate_start_date Date COMMENT 'first day in force',
    rate_end_date Nullable(Date) COMMENT 'last day in force, NULL where open-ended',
    component LowCardinality(String) COMMENT 'component of the price, Energy by default',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.rate_code AS rate_code, r.amount AS amount, r.rate_start_date AS rate_start_date, r.rate_end_date AS rate_end_date, r.component AS component,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_flat_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateFlat') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR ifNull(r.rate_end_date, toDate('2149-06-06')) < f.replaced_from
COMMENT 'Flat prices in force; a later version replaces the one before, of which rows that ended before it stay';

CREATE TABLE IF NOT EXISTS {database}.rate_fixed_row{onCluster} (
    rate_code String COMMENT 'rate code',
    name String COMMENT 'name of the charge',
    kind LowCardinality(String) COMMENT 'Service, Facility, TaxPercent, TaxAmount, Program, Credit or Minimum',
    basis LowCardinality(String) COMMENT 'PerPeriod, PerDay, PerMonth, PerUnit or Percent',
    amount Decimal(38, 9) COMMENT 'dollars, or percent: 4 is 4 %',
    taxable Bool COMMENT 'whether percentage charges apply to it',
    rate_start_date Date COMMENT 'first day in force',
    rate_end_date Nullable(Date) COMMENT 'last day in force, NULL where open-ended',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (rate_code, name, rate_start_date, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind rate_fixed: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.rate_fixed{onCluster} (
    rate_code String COMMENT 'rate code',
    name String COMMENT 'name of the charge',
    kind LowCardinality(String) COMMENT 'Service, Facility, TaxPercent, TaxAmount, Program, Credit or Minimum',
    basis LowCardinality(String) COMMENT 'PerPeriod, PerDay, PerMonth, PerUnit or Percent',
    amount Decimal(38, 9) COMMENT 'dollars, or percent: 4 is 4 %',
    taxable Bool COMMENT 'whether percentage charges apply to it',
    rate_start_date Date COMMENT 'first day in force',
    rate_end_date Nullable(Date) COMMENT 'last day in force, NULL where open-ended',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.rate_code AS rate_code, r.name AS name, r.kind AS kind, r.basis AS basis, r.amount AS amount, r.taxable AS taxable, r.rate_start_date AS rate_start_date, r.rate_end_date AS rate_end_date,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_fixed_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateFixed') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR ifNull(r.rate_end_date, toDate('2149-06-06')) < f.replaced_from
COMMENT 'Fixed charges, taxes, credits and minimums in force; a later version replaces the one before, of which rows that ended before it stay';

CREATE TABLE IF NOT EXISTS {database}.holiday_row{onCluster} (
    date Date COMMENT 'the holiday',
    name String COMMENT 'name of the holiday',
    rate_code String COMMENT 'rate code, empty for all',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (date, rate_code, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind holiday: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.holiday{onCluster} (
    date Date COMMENT 'the holiday',
    name String COMMENT 'name of the holiday',
    rate_code String COMMENT 'rate code, empty for all',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.date AS date, r.name AS name, r.rate_code AS rate_code,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.holiday_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'Holidays') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06' OR r.date < f.replaced_from
COMMENT 'The holidays in force; a later version replaces the one before, of which rows that ended before it stay';
