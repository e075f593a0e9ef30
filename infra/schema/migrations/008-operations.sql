CREATE TABLE IF NOT EXISTS {database}.source_state{onCluster} (
    source LowCardinality(String) COMMENT 'source of the profile',
    aspect LowCardinality(String) COMMENT 'pause: whether an operator paused it; poll: whether listing it fails',
    active Bool COMMENT 'paused, or failing',
    failures UInt32 COMMENT 'failures in a row',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same in words',
    since DateTime64(3, 'UTC') COMMENT 'when it was paused, or failed first',
    retry_at DateTime64(3, 'UTC') COMMENT 'when it is tried again',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(recorded_at)}
ORDER BY (source, aspect)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Sources that are paused or fail; the latest row of an aspect counts';

CREATE TABLE IF NOT EXISTS {database}.audit_log{onCluster} (
    number UInt32 COMMENT 'number of the entry: 1, 2, 3 ... in the order in which they were written',
    at DateTime64(3, 'UTC') COMMENT 'when it was written, before the act was carried out',
    who String COMMENT 'the authenticated user; on the command line the user of the machine; loopback for whoever is on the machine; tieline for what the service does by the profile',
    via LowCardinality(String) COMMENT 'page, command, gateway or worker',
    act LowCardinality(String) COMMENT 'retry, accept, register, unlock, bind, erase or profile',
    subject String COMMENT 'what it was done to: the arrival of a file, the name of a file of customers, a client, the id of a bind action, the hash of a profile; of an erasure the instant by which its tombstones are found',
    detail String COMMENT 'the same in words',
    claim String COMMENT 'who wrote the entry: a random id',
    before String COMMENT 'hash of the entry before, empty for the first',
    hash String COMMENT 'sha256, hexadecimal, of before and of all columns ahead of it'
) ENGINE = {engine:MergeTree}
ORDER BY number
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Who did what; entries are only added, and each holds the hash of the one before';

CREATE TABLE IF NOT EXISTS {database}.alert{onCluster} (
    key String COMMENT 'what is the matter with what, such as source:mdm; the same as long as it lasts',
    told UInt32 COMMENT 'number of the message about it: 1, 2, 3 ...; the highest is the latest',
    version UInt32 COMMENT 'rank of what is known of the message; the highest counts',
    claim String COMMENT 'who claimed the attempt: a random id of it',
    state LowCardinality(String) COMMENT 'raised or resolved',
    body String COMMENT 'the message as it is sent, JSON; its id is that of every attempt',
    attempts UInt32 COMMENT 'attempts at sending it, the one that was claimed last included',
    outcome LowCardinality(String) COMMENT 'open: to be sent, perhaps again; delivered, refused, failed (after too many attempts)',
    status UInt16 COMMENT 'HTTP status of the answer that ended it, 0 where there was none',
    told_at DateTime64(3, 'UTC') COMMENT 'when the message was made',
    retry_at DateTime64(3, 'UTC') COMMENT 'when an open message is sent again',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (key, told)
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What the receiver of alerts was told; an attempt is claimed before it is made, by its insert token';

CREATE OR REPLACE VIEW {database}.freshness{onCluster} (
    company_code String COMMENT 'company whose files the reads came in',
    commodity String COMMENT 'Electric or Gas',
    billing_cycle_id String COMMENT 'billing cycle, as text; empty for meters that are not registered',
    newest_interval_end Nullable(DateTime('UTC')) COMMENT 'end of the newest interval, UTC; NULL where there is none in the week before the newest of the company and commodity',
    age_hours Nullable(Float64) COMMENT 'hours since then',
    late Bool COMMENT 'whether that is longer ago than usage.lateAfterHours of the profile, or none is there',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the newest of these reads became visible'
) AS WITH
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
