CREATE TABLE IF NOT EXISTS {database}.source_state{onCluster} (
    source LowCardinality(String) COMMENT 'source of the profile',
    aspect LowCardinality(String) COMMENT 'pause: paused by an operator; poll: listing the source fails; others: it has entries that are not files',
    active Bool COMMENT 'paused, failing, or has such entries',
    failures UInt32 COMMENT 'failures in a row',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same as a sentence',
    since DateTime64(3, 'UTC') COMMENT 'when it was paused or first failed',
    retry_at DateTime64(3, 'UTC') COMMENT 'when it is retried',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(recorded_at)}
ORDER BY (source, aspect)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Sources that are paused, failing or have entries that are not loaded; the latest row of each aspect counts';

CREATE TABLE IF NOT EXISTS {database}.audit_log{onCluster} (
    number UInt32 COMMENT 'number of the entry: 1, 2, 3 ... in the order in which they were written',
    at DateTime64(3, 'UTC') COMMENT 'when it was recorded, before the action was carried out',
    who String COMMENT 'the authenticated user; the user of the machine for commands; loopback for requests from the machine itself; tieline for what the service does by itself',
    via LowCardinality(String) COMMENT 'page, command, gateway or worker',
    act LowCardinality(String) COMMENT 'retry, accept, repair, register, unregister, reader, unlock, bind, erase, profile, dismiss or forget',
    subject String COMMENT 'object of the action: arrival of a file, name of a customer file, client, id of a bind action, hash of a profile, key of a dismissed problem, id of a forgotten machine; for an erasure the instant that identifies its tombstones',
    detail String COMMENT 'the same as a sentence',
    claim String COMMENT 'id of the writer, random',
    before String COMMENT 'hash of the previous entry, empty for the first',
    hash String COMMENT 'sha256, hexadecimal, of before and all columns that precede it'
) ENGINE = {engine:MergeTree}
ORDER BY number
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Audit log of actions; entries are only added, and each contains the hash of the previous entry';

CREATE TABLE IF NOT EXISTS {database}.alert{onCluster} (
    key String COMMENT 'problem and its object, such as source:mdm; unchanged while the problem lasts',
    sequence UInt32 COMMENT 'number of the notification about it: 1, 2, 3 ...; the highest is the latest',
    version UInt32 COMMENT 'version of the state of the notification; the highest counts',
    claim String COMMENT 'id of the claim, random',
    state LowCardinality(String) COMMENT 'raised or resolved',
    body String COMMENT 'the notification as sent, JSON; all attempts have its id',
    attempts UInt32 COMMENT 'attempts to send it, including the last claimed one',
    outcome LowCardinality(String) COMMENT 'open (to be sent or retried), delivered, refused, failed (after too many attempts)',
    status UInt16 COMMENT 'HTTP status of the final response, 0 if there was none',
    notified_at DateTime64(3, 'UTC') COMMENT 'when the notification was created',
    retry_at DateTime64(3, 'UTC') COMMENT 'when an open notification is retried',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (key, sequence)
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Notifications to the alert receiver; an attempt is claimed before it is made, by its insert token';

CREATE TABLE IF NOT EXISTS {database}.verification{onCluster} (
    kind LowCardinality(String) COMMENT 'rows, days, part, ledger, chunk or archive; run for the verification itself',
    subject String COMMENT 'what was verified: an arrival, a part, a file with its machine; of a run what it covered',
    arrival UInt32 COMMENT 'number of the arrival, 0 if none',
    rows UInt64 COMMENT 'missing rows, meters of a day whose sums differ, or missing numbers of the ledger; of a run the rows that were expected',
    quantity Decimal(38, 6) COMMENT 'missing control total',
    detail String COMMENT 'the same as a sentence',
    open Bool COMMENT 'whether it is missing or damaged; false once a later verification found it in order',
    since DateTime64(3, 'UTC') COMMENT 'when it was first found',
    verified_at DateTime64(3, 'UTC') COMMENT 'when it was verified',
    recorded_at DateTime64(3, 'UTC') COMMENT 'later than those of earlier verifications, also where the clock was set back'
) ENGINE = {engine:ReplacingMergeTree(recorded_at)}
ORDER BY (kind, subject)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What the last verifications found; the latest row of each subject counts';

CREATE OR REPLACE VIEW {database}.freshness{onCluster} (
    company_code String COMMENT 'company of the files with the reads',
    commodity String COMMENT 'Electric or Gas',
    billing_cycle_id String COMMENT 'billing cycle, as text; empty for meters that are not registered',
    newest_interval_end Nullable(DateTime('UTC')) COMMENT 'end of the newest interval, UTC; NULL if there is none in the week before the newest interval of the company and commodity',
    age_hours Nullable(Float64) COMMENT 'hours since newest_interval_end',
    late Bool COMMENT 'whether age_hours exceeds usage.lateAfterHours of the profile, or there is no interval',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the newest of these reads became visible',
    published_seq Nullable(UInt64) COMMENT 'the highest number of their publications; NULL if there are none'
) AS WITH
    files AS
    (
        SELECT toUInt64(s.arrival) AS arrival, toString(company_code) AS company_code, toString(feed) AS commodity,
            received_at, n.published_at AS published_at, n.published_seq AS published_seq, assumeNotNull(last_interval_end) AS last_end
        FROM {database}.file_state AS s FINAL
        INNER JOIN (SELECT arrival, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS n ON n.arrival = s.arrival
        WHERE feed IN ('Electric', 'Gas') AND last_interval_end IS NOT NULL
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
    toBool(ifNull(age_hours * 3600 > {lateAfterSeconds}, true)) AS late, max(published) AS published_at, max(seq) AS published_seq
FROM
(
    SELECT f.company_code AS company_code, f.commodity AS commodity, c.billing_cycle_id AS billing_cycle_id,
        toNullable(max(least(u.starts_at + u.seconds, toDateTime(f.received_at, 'UTC')))) AS newest, toNullable(max(f.published_at)) AS published,
        toNullable(max(f.published_seq)) AS seq
    FROM {database}.usage_current AS u
    INNER JOIN files AS f ON f.arrival = u.arrival
    ANY LEFT JOIN cycles AS c ON c.meter_id = u.meter_id
    WHERE u.local_day IN (SELECT local_day FROM days)
    GROUP BY company_code, commodity, billing_cycle_id
    UNION ALL
    SELECT DISTINCT b.company_code AS company_code, c.commodity AS commodity, c.billing_cycle_id AS billing_cycle_id,
        NULL AS newest, NULL AS published, NULL AS seq
    FROM cycles AS c
    INNER JOIN {database}.billing_cycle AS b ON b.billing_cycle_id = c.billing_cycle_id
)
GROUP BY company_code, commodity, billing_cycle_id
SETTINGS join_use_nulls = 0
COMMENT 'Freshness of reads by company, commodity and billing cycle; a read in the future counts as read when its file arrived';

CREATE TABLE IF NOT EXISTS {database}.self_test{onCluster} (
    run String COMMENT 'id of the test, random',
    name LowCardinality(String) COMMENT 'what is tested',
    version UInt64 COMMENT 'of two rows of one name the higher version counts',
    tested_at DateTime('UTC') DEFAULT now() COMMENT 'when it was tested'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (run, name)
TTL tested_at + INTERVAL 1 DAY
SETTINGS {deduplicationWindow} = 1000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Rows by which each start tests what loading exactly once rests on; kept for a day';

CREATE TABLE IF NOT EXISTS {database}.system_state{onCluster} (
    system String COMMENT 'cis, ami, mdm, or identity with the address of the provider',
    active Bool COMMENT 'whether requests to it fail',
    failures UInt32 COMMENT 'requests that failed since its last good answer',
    code LowCardinality(String) COMMENT 'code of the last failure, empty if none',
    detail String COMMENT 'the same as a sentence',
    since DateTime64(3, 'UTC') COMMENT 'when the first of them failed',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(recorded_at)}
ORDER BY system
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Systems of the utility that fail: CIS, identity provider, head-end and MDM; the latest row of each counts';

CREATE TABLE IF NOT EXISTS {database}.healed{onCluster} (
    kind LowCardinality(String) COMMENT 'restart: a part of Tieline ended and was restarted; server: an external ClickHouse or Redis did not answer; source: listing a source failed; system: requests to a system of the utility failed',
    subject String COMMENT 'name of the part, server, source or system',
    began_at DateTime64(3, 'UTC') COMMENT 'when it first failed',
    healed_at DateTime64(3, 'UTC') COMMENT 'when it last worked again',
    times UInt32 COMMENT 'how often it failed in this time; less than five minutes between two failures count as the same time',
    code LowCardinality(String) COMMENT 'code of the last failure, empty for a restart',
    detail String COMMENT 'the same as a sentence; of a restart how the process ended'
) ENGINE = {engine:ReplacingMergeTree(healed_at)}
ORDER BY (kind, subject, began_at)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What failed and works again without an operator; kept for a week';

CREATE TABLE IF NOT EXISTS {database}.machine{onCluster} (
    machine String COMMENT 'id of a data folder, which it has in its file "machine"',
    host String COMMENT 'name of the host whose worker reported last',
    seen_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when a worker on it last reported'
) ENGINE = {engine:ReplacingMergeTree(seen_at)}
ORDER BY machine
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Data folders that workers run on; those that share one are one machine';

CREATE TABLE IF NOT EXISTS {database}.rejects_erasure{onCluster} (
    machine String COMMENT 'id of the data folder that is asked',
    arrival UInt32 COMMENT 'arrival whose rejects file may have rows of erased accounts',
    asked_at DateTime64(3, 'UTC') COMMENT 'when it was asked, before the rows were deleted from the store',
    done Bool COMMENT 'whether the file was rewritten there, or is not there'
) ENGINE = {engine:ReplacingMergeTree(done)}
ORDER BY (machine, arrival, asked_at)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Rejects files that each machine rewrites on its own disk because of an erasure';
