CREATE TABLE IF NOT EXISTS {database}.schedule_version{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival',
    feed LowCardinality(String) COMMENT 'feed of the complete schedule',
    company_code String COMMENT 'company of the schedule',
    code String COMMENT 'billing cycle or rate code that the version has; empty for all that it lacks',
    first_start Date COMMENT 'first day on which the version applies to the code; for a row of every year, the day of the file'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (feed, company_code, arrival, code)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Versions of complete schedules and the codes that they have, written before they are published';

CREATE OR REPLACE VIEW {database}.schedule_in_force{onCluster} (
    arrival UInt64 COMMENT 'number of the arrival',
    feed String COMMENT 'feed of the complete schedule',
    company_code String COMMENT 'company of the schedule',
    code String COMMENT 'billing cycle or rate code that the version has; empty for all that it lacks',
    first_start Date COMMENT 'first day on which the version applies to the code',
    file_id String COMMENT 'sha256 of the file',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of its publication',
    in_force_from Date COMMENT 'first_start where an earlier version has the code, else 1970-01-01',
    replaced_from Date COMMENT 'first day on which a later version applies to the code; the maximum date if there is none'
) AS SELECT
    v.arrival AS arrival, v.feed AS feed, v.company_code AS company_code, v.code AS code, v.first_start AS first_start,
    any(v.file_id) AS file_id, any(v.published_at) AS published_at, any(v.published_seq) AS published_seq,
    if(countIf(o.arrival < v.arrival AND mapContains(o.starts, v.code)) > 0, v.first_start, toDate('1970-01-01')) AS in_force_from,
    if(countIf(o.arrival > v.arrival) = 0, toDate('2149-06-06'),
        minIf(o.starts[if(mapContains(o.starts, v.code), v.code, '')], o.arrival > v.arrival)) AS replaced_from
FROM
(
    SELECT toUInt64(n.arrival) AS arrival, toString(n.feed) AS feed, n.company_code AS company_code, n.code AS code, n.first_start AS first_start,
        p.file_id AS file_id, p.published_at AS published_at, p.published_seq AS published_seq
    FROM {database}.schedule_version AS n FINAL
    INNER JOIN (SELECT arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS p ON p.arrival = n.arrival
) AS v
INNER JOIN
(
    SELECT arrival, feed, company_code, mapFromArrays(groupArray(code), groupArray(first_start)) AS starts
    FROM {database}.schedule_version FINAL
    WHERE arrival IN (SELECT arrival FROM {database}.publication WHERE arrival != 0)
    GROUP BY arrival, feed, company_code
) AS o ON o.feed = v.feed AND o.company_code = v.company_code
GROUP BY arrival, feed, company_code, code, first_start
COMMENT 'Published versions of complete schedules by code, and the days on which each applies';

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
    SELECT *, max(next_start = end_date) OVER (PARTITION BY arrival, billing_cycle_id) OR (
        max(next_start) OVER (PARTITION BY arrival, billing_cycle_id) = '1970-01-01'
        AND max(next_start = end_date) OVER (PARTITION BY arrival) AND NOT max(next_start > end_date) OVER (PARTITION BY arrival)) AS is_exclusive
    FROM
    (
        SELECT r.billing_cycle_id AS billing_cycle_id, r.start_date AS start_date, r.end_date AS end_date, r.version AS version,
            f.company_code AS company_code, f.file_id AS file_id, f.published_at AS published_at, f.published_seq AS published_seq, f.arrival AS arrival, f.replaced_from AS replaced_from,
            leadInFrame(r.start_date) OVER (PARTITION BY f.arrival, r.billing_cycle_id ORDER BY r.start_date ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_start
        FROM (SELECT * FROM {database}.billing_cycle_row LIMIT 1 BY version) AS r
        INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'BillingCycles') AS f
            ON f.arrival = bitShiftRight(r.version, 32) AND f.code = r.billing_cycle_id
    )
)
WHERE replaced_from = '2149-06-06' OR if(is_exclusive, end_date - 1, end_date) < replaced_from
COMMENT 'The billing cycle schedule in force: one row for each cycle and period; a later version replaces the one before, of which periods stay that ended before the first one of their cycle there';

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
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateCodes' AND code = '') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE f.replaced_from = '2149-06-06'
COMMENT 'The rate codes in force: those of the latest version. A bill of earlier days also finds codes that it lacks';

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
    in_force_from Date COMMENT 'first day on which a row of every year applies; 1970-01-01 unless an earlier version has the code',
    in_force_to Date COMMENT 'last day on which a row of every year applies; the maximum date unless a later version has replaced it',
    company_code String COMMENT 'company of the schedule',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    r.rate_code AS rate_code, r.name AS name, r.amount AS amount, r.start_hour AS start_hour, r.end_hour AS end_hour, r.rate_start_date AS rate_start_date, if(startsWith(r.rate_start_date, '--') OR r.rate_end_date != '' AND r.rate_end_date < toString(f.replaced_from)
        OR f.replaced_from = '2149-06-06', r.rate_end_date, toString(f.replaced_from - 1)) AS rate_end_date, r.day_type AS day_type, r.component AS component,
    f.in_force_from AS in_force_from, if(f.replaced_from = '2149-06-06', f.replaced_from, f.replaced_from - 1) AS in_force_to,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_tou_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateTou') AS f
    ON f.arrival = bitShiftRight(r.version, 32) AND f.code = r.rate_code
WHERE if(startsWith(r.rate_start_date, '--'), f.in_force_from, toDate(r.rate_start_date)) < f.replaced_from
COMMENT 'Time-of-use prices in force; a later version of a rate code applies from its first day; rate_end_date of the one before is the day before that';

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
    r.rate_code AS rate_code, r.tier AS tier, r.daily_prorate_factor AS daily_prorate_factor, r.amount AS amount, r.rate_start_date AS rate_start_date, if(f.replaced_from = '2149-06-06' OR r.rate_end_date < f.replaced_from, r.rate_end_date, f.replaced_from - 1) AS rate_end_date, r.period_limit AS period_limit, r.component AS component,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_tier_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateTiers') AS f
    ON f.arrival = bitShiftRight(r.version, 32) AND f.code = r.rate_code
WHERE r.rate_start_date < f.replaced_from
COMMENT 'Tiered prices in force; a later version of a rate code applies from its first day; rate_end_date of the one before is the day before that';

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
    r.rate_code AS rate_code, r.amount AS amount, r.rate_start_date AS rate_start_date, if(f.replaced_from = '2149-06-06' OR r.rate_end_date < f.replaced_from, r.rate_end_date, f.replaced_from - 1) AS rate_end_date, r.component AS component,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_flat_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateFlat') AS f
    ON f.arrival = bitShiftRight(r.version, 32) AND f.code = r.rate_code
WHERE r.rate_start_date < f.replaced_from
COMMENT 'Flat prices in force; a later version of a rate code applies from its first day; rate_end_date of the one before is the day before that';

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
    r.rate_code AS rate_code, r.name AS name, r.kind AS kind, r.basis AS basis, r.amount AS amount, r.taxable AS taxable, r.rate_start_date AS rate_start_date, if(f.replaced_from = '2149-06-06' OR r.rate_end_date < f.replaced_from, r.rate_end_date, f.replaced_from - 1) AS rate_end_date,
    f.company_code AS company_code, f.file_id AS file_id, r.version AS version, f.published_at AS published_at, f.published_seq AS published_seq
FROM (SELECT * FROM {database}.rate_fixed_row LIMIT 1 BY version) AS r
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'RateFixed') AS f
    ON f.arrival = bitShiftRight(r.version, 32) AND f.code = r.rate_code
WHERE r.rate_start_date < f.replaced_from
COMMENT 'Fixed charges, taxes, credits and minimums in force; a later version of a rate code applies from its first day; rate_end_date of the one before is the day before that';

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
INNER JOIN (SELECT * FROM {database}.schedule_in_force WHERE feed = 'Holidays' AND code = '') AS f ON f.arrival = bitShiftRight(r.version, 32)
WHERE r.date < f.replaced_from
COMMENT 'The holidays in force; a later version replaces the one before, of which rows that ended before it stay';
