CREATE OR REPLACE VIEW {database}.freshness
(
    company_code String COMMENT 'company whose files the reads came in',
    commodity String COMMENT 'Electric or Gas',
    billing_cycle_id String COMMENT 'billing cycle, as text; empty for meters that are not registered',
    newest_interval_end Nullable(DateTime('UTC')) COMMENT 'end of the newest interval, UTC; NULL where there is none in the week before the newest of the company and commodity',
    age_hours Nullable(Float64) COMMENT 'hours since then',
    late Bool COMMENT 'whether that is longer ago than usage.lateAfterHours of the profile, or none is there',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the newest of these reads became visible'
)
AS WITH
    files AS
    (
        SELECT toUInt64(arrival) AS arrival, toString(company_code) AS company_code, toString(feed) AS commodity,
            received_at, assumeNotNull(published_at) AS published_at, assumeNotNull(last_interval_end) AS last_end
        FROM {database}.file_state FINAL
        WHERE status = 'published' AND feed IN ('Electric', 'Gas') AND last_interval_end IS NOT NULL
    ),
    days AS
    (
        SELECT arrayJoin(arrayMap(before -> newest + 1 - before, range(9))) AS local_day
        FROM (SELECT toDate(max(least(last_end, toDateTime(received_at, 'UTC')))) AS newest FROM files GROUP BY company_code, commodity)
    ),
    cycles AS
    (
        SELECT DISTINCT meter_id, toString(meter_type) AS commodity, toString(billing_cycle_id) AS billing_cycle_id
        FROM {database}.tenancy FINAL WHERE valid_to IS NULL
    )
SELECT
    company_code, commodity, billing_cycle_id, max(newest) AS newest_interval_end,
    dateDiff('second', newest_interval_end, now('UTC')) / 3600 AS age_hours,
    ifNull(age_hours * 3600 > {lateAfterSeconds}, true) AS late, max(published) AS published_at
FROM
(
    SELECT f.company_code AS company_code, f.commodity AS commodity, c.billing_cycle_id AS billing_cycle_id,
        toNullable(max(least(u.starts_at + u.seconds, toDateTime(f.received_at, 'UTC')))) AS newest, toNullable(max(f.published_at)) AS published
    FROM {database}.usage_read AS u
    INNER JOIN files AS f ON f.arrival = bitShiftRight(u.version, 32)
    ANY LEFT JOIN cycles AS c ON c.meter_id = u.meter_id
    WHERE u.local_day IN (SELECT local_day FROM days)
    GROUP BY company_code, commodity, billing_cycle_id
    UNION ALL
    SELECT DISTINCT b.company_code AS company_code, c.commodity AS commodity, c.billing_cycle_id AS billing_cycle_id,
        NULL AS newest, NULL AS published
    FROM cycles AS c
    INNER JOIN {database}.billing_cycle AS b ON b.billing_cycle_id = c.billing_cycle_id
)
GROUP BY company_code, commodity, billing_cycle_id
COMMENT 'How new the reads are, by company, commodity and billing cycle; a read of a time to come counts as one of when its file came';
