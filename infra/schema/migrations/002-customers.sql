CREATE TABLE IF NOT EXISTS {database}.registration_fact{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    external_site_id String COMMENT 'premise',
    account_number String COMMENT 'contract account, empty if the utility has none',
    client_id String COMMENT 'client seen with the account; empty unless kind is seen',
    kind Enum8('seen' = 1, 'usage' = 2, 'bill' = 3, 'shared' = 4) COMMENT 'seen: a customer record; usage: first interval with the account; bill: date on which the meter became active for the account; shared: a client of the account and premise whose record does not list the meter',
    at DateTime64(3, 'UTC') COMMENT 'when it was seen, or the instant that the fact is about',
    meter_type LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf or cm, empty if not given',
    rate_code LowCardinality(String) COMMENT 'rate that selects the billing calculator',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle, as text',
    is_ami Bool COMMENT 'whether it is a smart meter',
    acct_status LowCardinality(String) COMMENT 'account status as the utility encodes it, empty if not given',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when it was recorded',
    INDEX site_index external_site_id TYPE bloom_filter GRANULARITY 4
) ENGINE = {engine:MergeTree}
ORDER BY (meter_id, external_site_id, account_number)
SETTINGS {deduplicationWindow} = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Facts about meters and their customers. Rows are only added, so tenancies derived from them do not depend on the order of writing';

CREATE TABLE IF NOT EXISTS {database}.tenancy{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    external_site_id String COMMENT 'premise',
    account_number String COMMENT 'contract account, empty if the utility has none',
    client_id String COMMENT 'client of a tenancy without account number, else empty',
    client_ids Array(String) COMMENT 'clients that share the account, sorted',
    meter_type LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf or cm, empty if not given',
    rate_code LowCardinality(String) COMMENT 'rate as last seen',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle as last seen',
    valid_from Nullable(DateTime('UTC')) COMMENT 'start; NULL for the first known tenancy of a site and meter',
    valid_to Nullable(DateTime('UTC')) COMMENT 'end, exclusive; NULL while it lasts',
    started_by LowCardinality(String) COMMENT 'evidence of valid_from: first, bill, usage or seen',
    previous_account_number String COMMENT 'account of the tenancy before, empty if none is known',
    previous_client_ids Array(String) COMMENT 'clients of the tenancy before',
    shared_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when a second client was seen with the account',
    version UInt64 COMMENT 'number of facts that the row is derived from; the row with most facts counts',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row got its current values',
    INDEX unit_index unit_of_measure TYPE set(8) GRANULARITY 1
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (meter_id, external_site_id, account_number, client_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Tenancies: which account held which meter and when; derived from registration_fact';

CREATE TABLE IF NOT EXISTS {database}.erasure{onCluster} (
    account_number String COMMENT 'contract account that was terminated',
    meter_id String COMMENT 'meter that was terminated, empty if all meters of the account were',
    external_site_id String COMMENT 'premise that was terminated, empty if all were',
    terminated_on Date COMMENT 'last day of the account',
    ended_at DateTime('UTC') COMMENT 'end of that day',
    stretches Array(Tuple(meter_id String, external_site_id String, held_from DateTime('UTC'), held_to DateTime('UTC'), weight UInt32)) COMMENT 'intervals in which the account held a meter, and the number of facts they are derived from',
    counts Map(String, UInt64) COMMENT 'rows that were erased, by table',
    started_at DateTime64(3, 'UTC') COMMENT 'rows of the account are not accepted from this instant on',
    erased_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when erasure was complete; NULL until then',
    rank UInt8 COMMENT '1 erasure started, 2 all rows erased, 3 later tenancies derived again'
) ENGINE = {engine:ReplacingMergeTree(rank)}
ORDER BY (account_number, meter_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Tombstones of terminated accounts that were erased, with the number of erased rows';

CREATE TABLE IF NOT EXISTS {database}.history_request{onCluster} (
    meter_id String COMMENT 'meter whose history is requested',
    commodity LowCardinality(String) COMMENT 'Electric or Gas',
    state LowCardinality(String) COMMENT 'open (not requested yet, or no response yet), answered, empty or failed',
    reason LowCardinality(String) COMMENT 'code of the fault that ended it, empty if none',
    arrival UInt32 COMMENT 'arrival of the file created from the response; 0 if none',
    requested_at DateTime64(3, 'UTC') COMMENT 'when the meter was first registered, or registered again after a failure',
    version UInt32 COMMENT 'version of the state of the request; the highest counts',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY meter_id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'History requests to the MDM, recorded before the call; one for each meter';

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
        ifNull(valid_from, toDateTime(0, 'UTC')) AS held_from,
        ifNull(valid_to, toDateTime(4294967295, 'UTC')) AS held_to,
        multiIf(unit_of_measure != '', toString(unit_of_measure), meter_type = 'Gas', '{gasUnit}', '{electricUnit}') AS held_unit
    FROM {database}.tenancy FINAL
    WHERE meter_id IN
        (SELECT meter_id FROM {database}.tenancy WHERE unit_of_measure NOT IN ('', '{electricUnit}', '{gasUnit}'))
)
GROUP BY meter_id
COMMENT 'Meters with a registration in another unit than the profile; the index skips all other meters';

CREATE OR REPLACE VIEW {database}.registration{onCluster} (
    client_id String COMMENT 'permanent client identifier',
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    meter_type String COMMENT 'Electric or Gas',
    unit_of_measure String COMMENT 'kWh, Wh, ccf or cm, empty if not given',
    rate_code String COMMENT 'rate that selects the billing calculator',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    is_ami Bool COMMENT 'whether it is a smart meter',
    acct_status String COMMENT 'account status as the utility encodes it, empty if not given',
    valid_from Nullable(DateTime('UTC')) COMMENT 'start of the tenancy; NULL if it is the first known',
    valid_to Nullable(DateTime('UTC')) COMMENT 'end of the tenancy, exclusive; NULL while it lasts',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row got its current values'
) AS SELECT
    seen.client AS client_id, seen.account AS account_number, seen.site AS external_site_id, seen.meter AS meter_id,
    toString(seen.codes.1) AS meter_type, toString(seen.codes.2) AS unit_of_measure,
    toString(seen.codes.3) AS rate_code, toString(seen.codes.4) AS billing_cycle_id,
    seen.codes.5 AS is_ami, toString(seen.codes.6) AS acct_status,
    holder.valid_from AS valid_from, holder.valid_to AS valid_to,
    greatest(seen.recorded, holder.published_at) AS published_at
FROM
(
    SELECT meter_id AS meter, external_site_id AS site, account_number AS account, client_id AS client,
        argMax((meter_type, unit_of_measure, rate_code, billing_cycle_id, is_ami, acct_status), at) AS codes,
        max(recorded_at) AS recorded
    FROM {database}.registration_fact
    WHERE kind = 'seen'
    GROUP BY meter, site, account, client
) AS seen
INNER JOIN (SELECT * FROM {database}.tenancy FINAL) AS holder
    ON holder.meter_id = seen.meter AND holder.external_site_id = seen.site
    AND holder.account_number = seen.account AND holder.client_id = if(seen.account = '', seen.client, '')
COMMENT 'Meters of registered customers: one row for each client, account, site and meter';

CREATE OR REPLACE VIEW {database}.tenancy_event{onCluster} (
    kind String COMMENT 'move: another account took over the meter; shared: several clients have the account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    old_account_number String COMMENT 'account before; the same as the new one if kind is shared',
    new_account_number String COMMENT 'account after',
    client_ids Array(String) COMMENT 'clients concerned: those before and after a move, or those that share the account',
    at DateTime64(3, 'UTC') COMMENT 'when the new tenancy starts, or when the second client was seen',
    evidence String COMMENT 'evidence of at',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row got its current values'
) AS SELECT
    event.1 AS kind, external_site_id, meter_id, event.2 AS old_account_number, account_number AS new_account_number,
    event.3 AS client_ids, event.4 AS at, event.5 AS evidence, published_at
FROM
(
    SELECT *, arrayJoin(arrayConcat(
        if(valid_from IS NULL, [], [(
            'move', previous_account_number, arrayDistinct(arrayConcat(previous_client_ids, client_ids)),
            toDateTime64(assumeNotNull(valid_from), 3, 'UTC'),
            transform(toString(started_by),
                ['bill', 'usage', 'seen', 'ended'],
                ['a bill says since when the meter is active for the new account',
                 'the first interval with the new account in a usage file starts then',
                 'the new account was first seen then in a customer record',
                 'the account before was terminated then and has been erased'], '')
        )]),
        if(shared_at IS NULL, [], [(
            'shared', account_number, client_ids, assumeNotNull(shared_at),
            'customer records of several clients have the account and the site'
        )])
    )) AS event
    FROM {database}.tenancy FINAL
)
COMMENT 'Moves and shared accounts that were found';
