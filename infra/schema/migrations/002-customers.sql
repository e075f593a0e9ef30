CREATE TABLE IF NOT EXISTS {database}.registration_fact{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    external_site_id String COMMENT 'premise',
    account_number String COMMENT 'contract account, empty if the utility has none',
    client_id String COMMENT 'client whose record it is',
    kind Enum8('seen' = 1, 'gone' = 2, 'closed' = 3, 'left' = 4) COMMENT 'seen: a customer record lists the meter; gone: a later record of the client no longer has the site; closed: the account has a final or closed status; left: the client was unregistered',
    at DateTime64(3, 'UTC') COMMENT 'when it was seen',
    meter_type LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf, cm or therm, empty if not given',
    rate_code LowCardinality(String) COMMENT 'rate that selects the billing calculator',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle, as text',
    is_ami Bool COMMENT 'whether it is a smart meter',
    acct_status LowCardinality(String) COMMENT 'account status as the utility encodes it, empty if not given',
    read_under Array(Tuple(account_number String, held_from DateTime('UTC'), held_to DateTime('UTC'))) COMMENT 'other accounts whose reads the client may see at this meter, from an instant until before another',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when it was recorded',
    INDEX site_index external_site_id TYPE bloom_filter GRANULARITY 4,
    INDEX client_index client_id TYPE bloom_filter GRANULARITY 4
) ENGINE = {engine:MergeTree}
ORDER BY (meter_id, external_site_id, account_number)
SETTINGS {deduplicationWindow} = 10000, fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'What customer records said about meters. Rows are only added, so tenancies derived from them do not depend on the order of writing';

CREATE TABLE IF NOT EXISTS {database}.account_meter{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    external_site_id String COMMENT 'premise as sent with the reads',
    account_number String COMMENT 'contract account as sent with the reads',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    first_read SimpleAggregateFunction(min, DateTime('UTC')) COMMENT 'start of the earliest interval that a published file had',
    last_read SimpleAggregateFunction(max, DateTime('UTC')) COMMENT 'start of a late interval that a published file had; the latest one only where the account has ended',
    arrival SimpleAggregateFunction(max, UInt32) COMMENT 'latest arrival that changed the row',
    changes SimpleAggregateFunction(sum, UInt64) COMMENT 'how often the row has changed',
    INDEX site_index external_site_id TYPE bloom_filter GRANULARITY 4
) ENGINE = {engine:AggregatingMergeTree}
ORDER BY (meter_id, external_site_id, account_number, commodity)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Which accounts the published files have named at which meters';

CREATE TABLE IF NOT EXISTS {database}.tenancy{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    external_site_id String COMMENT 'premise',
    account_number String COMMENT 'contract account, empty if the utility has none',
    client_id String COMMENT 'client of a tenancy without account number, else empty',
    client_ids Array(String) COMMENT 'clients that have the account now, or had it last, sorted',
    meter_type LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf, cm or therm, empty if not given',
    rate_code LowCardinality(String) COMMENT 'rate as last seen',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle as last seen',
    codes Array(Tuple(held_from DateTime('UTC'), rate_code String, billing_cycle_id String, unit_of_measure String)) COMMENT 'rate, cycle and unit from each local midnight at which one of them changed; the first holds for all time before',
    valid_from Nullable(DateTime('UTC')) COMMENT 'start; NULL if no move is known before it',
    valid_to Nullable(DateTime('UTC')) COMMENT 'end, exclusive; NULL while it lasts',
    started_by LowCardinality(String) COMMENT 'evidence of valid_from: first, bill, usage, seen or ended',
    ended_by LowCardinality(String) COMMENT 'evidence of valid_to: bill, usage, seen, terminated, gone, closed or renumbered; empty while it lasts',
    withdrawn Array(Tuple(ended_by String, at DateTime('UTC'), withdrawn_by String)) COMMENT 'ends that were taken back: evidence, instant, and whether reads or a record took it back',
    next_account_number String COMMENT 'account that took the meter over at valid_to, empty if none is known',
    holds Array(Tuple(account_number String, held_from DateTime('UTC'), held_to DateTime('UTC'), client_ids Array(String), billed_to Array(String), change UInt64)) COMMENT 'whose reads they are: account sent with the read (empty: none, \\0: any that no client has), first instant, end (exclusive), clients, clients whose bills count them, and the change that made it so',
    previous_account_number String COMMENT 'account of the tenancy before, empty if none is known',
    previous_client_ids Array(String) COMMENT 'clients of the tenancy before',
    shared_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when a second client was seen with the account',
    known_at DateTime64(3, 'UTC') COMMENT 'instant of the latest customer record about the meter that the row rests on',
    version UInt64 COMMENT 'number of facts that the row is derived from; the row with most facts counts',
    change UInt64 COMMENT 'change by which the row got its current values',
    changed_at DateTime64(3, 'UTC') COMMENT 'when the row got its current values, by the clock of who wrote it',
    INDEX unit_index unit_of_measure TYPE set(8) GRANULARITY 1
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (meter_id, external_site_id, account_number, client_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Tenancies: which account held which meter and when; derived from registration_fact, account_meter and tenancy_hint';

CREATE TABLE IF NOT EXISTS {database}.erasure{onCluster} (
    account_number String COMMENT 'contract account that was terminated',
    meter_id String COMMENT 'meter that was terminated, empty if all meters of the account were',
    external_site_id String COMMENT 'premise that was terminated, empty if all were',
    terminated_on Date COMMENT 'last day of the account',
    ended_at DateTime('UTC') COMMENT 'end of that day',
    stretches Array(Tuple(meter_id String, external_site_id String, held_from DateTime('UTC'), held_to DateTime('UTC'), weight UInt32)) COMMENT 'intervals in which the account held a meter, and the number of facts that those of a meter are derived from, with the first of them',
    counts Map(String, UInt64) COMMENT 'rows that were erased, by table',
    started_at DateTime64(3, 'UTC') COMMENT 'rows of the account are not accepted from this instant on',
    erased_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when erasure was complete; NULL until then',
    rank UInt8 COMMENT '1 erasure started, 2 all rows erased, 3 later tenancies derived again'
) ENGINE = {engine:ReplacingMergeTree(rank)}
ORDER BY (account_number, meter_id, external_site_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Tombstones of terminated accounts that were erased, with the number of erased rows';

CREATE TABLE IF NOT EXISTS {database}.history_request{onCluster} (
    meter_id String COMMENT 'meter whose history is requested',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    state LowCardinality(String) COMMENT 'open (not requested yet, or no response yet), answered, empty or failed',
    reason LowCardinality(String) COMMENT 'code of the fault that ended it, empty if none',
    arrival UInt32 COMMENT 'arrival of the file created from the response; 0 if none',
    requested_at DateTime64(3, 'UTC') COMMENT 'when the request was opened: at the first registration of the meter, or of another account there, or of any after a failure',
    version UInt32 COMMENT 'version of the state of the request; the highest counts',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY meter_id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'History requests to the MDM, recorded before the call; one for each meter';

CREATE OR REPLACE VIEW {database}.change_number{onCluster} (
    change UInt64 COMMENT 'id of the change',
    published_seq UInt64 COMMENT 'number of its publication; of several the last one',
    published_at DateTime64(3, 'UTC') COMMENT 'when it was published'
) AS SELECT p.change AS change, max(p.published_seq) AS published_seq, max(p.published_at) AS published_at
FROM {database}.publication AS p
WHERE p.change IN (SELECT arrayJoin(arrayConcat([t.change], t.holds.6)) FROM {database}.tenancy AS t)
GROUP BY p.change
COMMENT 'Numbers of the changes that made tenancies as they are. A change that is completed after a crash is published again';

CREATE OR REPLACE VIEW {database}.meter_unit{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    unit String COMMENT 'unit of all its registrations; empty if they differ',
    stretches Array(Tuple(external_site_id String, held_from DateTime('UTC'), held_to DateTime('UTC'), unit String)) COMMENT 'unit by site and time; the end is exclusive'
) AS SELECT
    meter_id, if(uniqExact(held_unit) = 1, any(held_unit), '') AS unit,
    groupArray((external_site_id, held_from, held_to, held_unit)) AS stretches
FROM
(
    SELECT meter_id, external_site_id,
        greatest(ifNull(valid_from, toDateTime(0, 'UTC')), codes[n].1) AS held_from,
        if(n < length(codes), codes[n + 1].1, ifNull(valid_to, toDateTime(4294967295, 'UTC'))) AS held_to,
        multiIf(codes[n].4 != '', codes[n].4, meter_type = 'Gas', '{gasUnit}', '{electricUnit}') AS held_unit
    FROM {database}.tenancy FINAL
    ARRAY JOIN arrayEnumerate(codes) AS n
    WHERE meter_id IN
        (SELECT meter_id FROM {database}.tenancy WHERE unit_of_measure NOT IN ('', '{electricUnit}', '{gasUnit}')
            OR arrayExists(c -> c.4 NOT IN ('', '{electricUnit}', '{gasUnit}'), codes))
)
GROUP BY meter_id
COMMENT 'Meters with a registration in another unit than the profile; the index skips all other meters';

CREATE OR REPLACE VIEW {database}.registration{onCluster} (
    client_id String COMMENT 'permanent client identifier',
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    meter_type String COMMENT 'Electric or Gas',
    unit_of_measure String COMMENT 'kWh, Wh, ccf, cm or therm, empty if not given',
    rate_code String COMMENT 'rate that selects the billing calculator',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    is_ami Bool COMMENT 'whether it is a smart meter',
    acct_status String COMMENT 'account status as the utility encodes it, empty if not given',
    valid_from Nullable(DateTime('UTC')) COMMENT 'start of the tenancy; NULL if it is the first known',
    valid_to Nullable(DateTime('UTC')) COMMENT 'end of the tenancy, exclusive; NULL while it lasts',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row got its current values',
    published_seq Nullable(UInt64) COMMENT 'number of the publication of its current values; pull increments by it. NULL for the moment between a change and its publication'
) AS SELECT
    seen.client AS client_id, seen.account AS account_number, seen.site AS external_site_id, seen.meter AS meter_id,
    toString(seen.codes.1) AS meter_type, toString(seen.codes.2) AS unit_of_measure,
    toString(seen.codes.3) AS rate_code, toString(seen.codes.4) AS billing_cycle_id,
    seen.codes.5 AS is_ami, toString(seen.codes.6) AS acct_status,
    holder.valid_from AS valid_from, holder.valid_to AS valid_to,
    holder.published_at AS published_at, nullIf(holder.published_seq, 0) AS published_seq
FROM
(
    SELECT meter_id AS meter, external_site_id AS site, account_number AS account, client_id AS client,
        argMax((meter_type, unit_of_measure, rate_code, billing_cycle_id, is_ami, acct_status), at) AS codes
    FROM {database}.registration_fact
    WHERE kind = 'seen'
    GROUP BY meter, site, account, client
) AS seen
INNER JOIN
(
    SELECT t.*, p.published_at AS published_at, p.published_seq AS published_seq
    FROM {database}.tenancy AS t FINAL ANY LEFT JOIN {database}.change_number AS p ON p.change = t.change
) AS holder
    ON holder.meter_id = seen.meter AND holder.external_site_id = seen.site
    AND holder.account_number = seen.account AND holder.client_id = if(seen.account = '', seen.client, '')
WHERE arrayExists(hold -> has(hold.4, seen.client), holder.holds) OR has(holder.client_ids, seen.client)
SETTINGS join_use_nulls = 0
COMMENT 'Meters of registered customers: one row for each client, account, site and meter';

CREATE OR REPLACE VIEW {database}.tenancy_event{onCluster} (
    kind String COMMENT 'move: another account took over the meter, or the account ended; renumbered: the same client has another account; exchanged: the account has another meter; shared: several clients have the account; suspected: reads carry an account that no client has; withdrawn: later evidence took the end of a tenancy back',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    old_account_number String COMMENT 'account before; empty if none is known',
    new_account_number String COMMENT 'account after; empty if none is known',
    client_ids Array(String) COMMENT 'clients concerned: those before and after a move, or those that share the account',
    at DateTime64(3, 'UTC') COMMENT 'when the tenancy starts or ends, when the second client was seen, or the first read under the other account',
    local_day Date COMMENT 'local calendar day of at',
    evidence String COMMENT 'evidence of at',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row got its current values',
    published_seq Nullable(UInt64) COMMENT 'number of the publication of its current values; pull increments by it. NULL for the moment between a change and its publication'
) AS
WITH
    transform(event.4,
        ['bill', 'usage', 'seen', 'ended', 'terminated', 'gone', 'closed', 'exchanged', 'renumbered', 'shared', 'reads', 'record'],
        ['a bill says since when the meter is active for the new account',
         'the first interval with the new account in a usage file starts then',
         'the new account was first seen then in a customer record',
         'the account before was terminated then and has been erased',
         'the account was terminated',
         'a record of the client no longer has the site',
         'the account has a final or closed status',
         'a record of the client has another meter at the site',
         'a record of the client has another account number',
         'customer records of several clients have the account and the site',
         'reads under the account are later than its end',
         'a later record of the client has the account, the site and the meter'], '') AS evidence_text
SELECT
    event.1 AS kind, external_site_id, meter_id, event.2 AS old_account_number, event.3 AS new_account_number,
    event.5 AS client_ids, event.6 AS at, toDate(event.6, '{timeZone}') AS local_day, evidence_text AS evidence, p.published_at AS published_at,
    nullIf(p.published_seq, 0) AS published_seq
FROM
(
    SELECT external_site_id, meter_id, change, arrayJoin(arrayConcat(
        if(valid_from IS NULL, [], [(
            if(started_by IN ('renumbered', 'exchanged'), toString(started_by), 'move'),
            previous_account_number, account_number, toString(started_by),
            arrayDistinct(arrayConcat(previous_client_ids, client_ids)),
            toDateTime64(assumeNotNull(valid_from), 3, 'UTC')
        )]),
        if(ended_by IN ('terminated', 'gone', 'closed', 'exchanged') OR (ended_by = 'bill' AND (meter_id, external_site_id, next_account_number)
            NOT IN (SELECT meter_id, external_site_id, account_number FROM {database}.tenancy)), [(
            if(ended_by = 'exchanged', 'exchanged', 'move'), account_number, next_account_number, toString(ended_by), client_ids,
            toDateTime64(assumeNotNull(valid_to), 3, 'UTC')
        )], []),
        arrayMap(w -> (
            'withdrawn', account_number, account_number, if(w.3 = 'usage', 'reads', 'record'), client_ids, toDateTime64(w.2, 3, 'UTC')
        ), withdrawn),
        if(shared_at IS NULL, [], [(
            'shared', account_number, account_number, 'shared', client_ids, assumeNotNull(shared_at)
        )])
    )) AS event
    FROM {database}.tenancy FINAL
) AS e
ANY LEFT JOIN {database}.change_number AS p ON p.change = e.change
SETTINGS join_use_nulls = 0
UNION ALL
SELECT
    'suspected' AS kind, a.external_site_id AS external_site_id, a.meter_id AS meter_id, t.account_number AS old_account_number,
    a.account_number AS new_account_number, t.client_ids AS client_ids, toDateTime64(a.first_at, 3, 'UTC') AS at,
    toDate(a.first_at, '{timeZone}') AS local_day, 'reads carry an account that no client has' AS evidence, greatest(t.published_at, f.published_at) AS published_at,
    if(t.published_seq = 0, NULL, greatest(t.published_seq, f.published_seq)) AS published_seq
FROM
(
    SELECT external_site_id, meter_id, account_number, min(first_read) AS first_at, max(arrival) AS last_arrival
    FROM {database}.account_meter
    WHERE (external_site_id, meter_id) IN (SELECT external_site_id, meter_id FROM {database}.tenancy)
    GROUP BY external_site_id, meter_id, account_number
) AS a
INNER JOIN
(
    SELECT t.*, u.first_own AS first_own, p.published_at AS published_at, p.published_seq AS published_seq
    FROM {database}.tenancy AS t FINAL
    ANY LEFT JOIN {database}.change_number AS p ON p.change = t.change
    LEFT JOIN (SELECT external_site_id AS s, meter_id AS m, account_number AS o, min(first_read) AS first_own FROM {database}.account_meter GROUP BY s, m, o) AS u
        ON u.s = t.external_site_id AND u.m = t.meter_id AND u.o = t.account_number
    WHERE notEmpty(t.client_ids) AND t.account_number != ''
) AS t ON t.external_site_id = a.external_site_id AND t.meter_id = a.meter_id
ANY LEFT JOIN (SELECT arrival, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS f ON f.arrival = a.last_arrival
WHERE a.first_at > t.first_own AND a.first_at < ifNull(t.valid_to, toDateTime(4294967295, 'UTC'))
    AND (a.external_site_id, a.account_number) NOT IN (SELECT external_site_id, account_number FROM {database}.tenancy)
    AND NOT arrayExists(hold -> hold.1 = a.account_number, t.holds)
SETTINGS join_use_nulls = 0
COMMENT 'Moves, shared accounts and other changes of ownership that were found';
