CREATE TABLE IF NOT EXISTS {database}.registration_fact
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    external_site_id String COMMENT 'premise',
    account_number String COMMENT 'contract account, empty where the utility gives none',
    client_id String COMMENT 'who was seen with the account; empty where kind is not seen',
    kind Enum8('seen' = 1, 'usage' = 2, 'bill' = 3) COMMENT 'seen: a customer record; usage: first interval with the account; bill: date on which the meter became active for the account',
    at DateTime64(3, 'UTC') COMMENT 'when it was seen, or the instant that it tells of',
    meter_type LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf or cm, empty where not given',
    rate_code LowCardinality(String) COMMENT 'rate that selects the billing calculator',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle, as text',
    is_ami Bool COMMENT 'whether it is a smart meter',
    acct_status LowCardinality(String) COMMENT 'account status as the utility encodes it, empty where not given',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when it was written down'
)
ENGINE = MergeTree
ORDER BY (meter_id, external_site_id, account_number)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What was learnt of meters and their customers; rows are only added, so that tenancies follow from them whatever the order of writing';

CREATE TABLE IF NOT EXISTS {database}.tenancy
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    external_site_id String COMMENT 'premise',
    account_number String COMMENT 'contract account, empty where the utility gives none',
    client_id String COMMENT 'client of a tenancy without account number, else empty',
    client_ids Array(String) COMMENT 'clients who share the account, sorted',
    meter_type LowCardinality(String) COMMENT 'Electric or Gas',
    unit_of_measure LowCardinality(String) COMMENT 'kWh, Wh, ccf or cm, empty where not given',
    rate_code LowCardinality(String) COMMENT 'rate as last seen',
    billing_cycle_id LowCardinality(String) COMMENT 'billing cycle as last seen',
    valid_from Nullable(DateTime('UTC')) COMMENT 'start; NULL for the first known tenancy of a site and meter',
    valid_to Nullable(DateTime('UTC')) COMMENT 'end, exclusive; NULL while it lasts',
    started_by LowCardinality(String) COMMENT 'what valid_from rests on: first, bill, usage or seen',
    previous_account_number String COMMENT 'account of the tenancy before, empty if none is known',
    previous_client_ids Array(String) COMMENT 'clients of the tenancy before',
    shared_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when a second client was seen with the account',
    version UInt64 COMMENT 'number of facts about the meter that the row rests on; more knowledge wins',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became what it is'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (meter_id, external_site_id, account_number, client_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Who held which meter when: follows from registration_fact';

CREATE OR REPLACE VIEW {database}.registration
(
    client_id String COMMENT 'permanent client identifier',
    account_number String COMMENT 'contract account, empty where the utility gives none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    meter_type String COMMENT 'Electric or Gas',
    unit_of_measure String COMMENT 'kWh, Wh, ccf or cm, empty where not given',
    rate_code String COMMENT 'rate that selects the billing calculator',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    is_ami Bool COMMENT 'whether it is a smart meter',
    acct_status String COMMENT 'account status as the utility encodes it, empty where not given',
    valid_from Nullable(DateTime('UTC')) COMMENT 'start of the tenancy; NULL where it is the first known',
    valid_to Nullable(DateTime('UTC')) COMMENT 'end of the tenancy, exclusive; NULL while it lasts',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became what it is'
)
AS SELECT
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

CREATE OR REPLACE VIEW {database}.tenancy_event
(
    kind String COMMENT 'move: another account took over the meter; shared: several clients have the account',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    old_account_number String COMMENT 'account before; the same as the new one where kind is shared',
    new_account_number String COMMENT 'account after',
    client_ids Array(String) COMMENT 'clients concerned: those before a move and those after it, or those who share',
    at DateTime64(3, 'UTC') COMMENT 'when the new tenancy starts, or when the second client was seen',
    evidence String COMMENT 'what at rests on',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became what it is'
)
AS SELECT
    event.1 AS kind, external_site_id, meter_id, event.2 AS old_account_number, account_number AS new_account_number,
    event.3 AS client_ids, event.4 AS at, event.5 AS evidence, published_at
FROM
(
    SELECT *, arrayJoin(arrayConcat(
        if(valid_from IS NULL, [], [(
            'move', previous_account_number, arrayDistinct(arrayConcat(previous_client_ids, client_ids)),
            toDateTime64(assumeNotNull(valid_from), 3, 'UTC'),
            transform(toString(started_by),
                ['bill', 'usage', 'seen'],
                ['a bill says since when the meter is active for the new account',
                 'the first interval with the new account in a usage file starts then',
                 'the new account was first seen then in a customer record'], '')
        )]),
        if(shared_at IS NULL, [], [(
            'shared', account_number, client_ids, assumeNotNull(shared_at),
            'customer records of several clients have the account and the site'
        )])
    )) AS event
    FROM {database}.tenancy FINAL
)
COMMENT 'Moves and shared accounts that were found';

CREATE OR REPLACE VIEW {database}.registered_usage
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity String COMMENT 'Electric or Gas',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds; 86400 for a local day, whatever its length',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_hour UInt8 COMMENT 'local hour of the clock in which the interval starts, 0 to 23',
    quantity Decimal(18, 6) COMMENT 'quantity of the interval in unit',
    unit String COMMENT 'kWh, ccf or cm',
    account_number String COMMENT 'contract account as sent with the read',
    external_site_id String COMMENT 'premise as sent with the read',
    file_id String COMMENT 'sha256 of the file that the read came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the read became visible here: published, and its owner known',
    client_ids Array(String) COMMENT 'clients whose read it is; several where they share the account',
    billing_cycle_id String COMMENT 'billing cycle of the meter, as text',
    rate_code String COMMENT 'rate of the meter'
)
AS SELECT
    meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity, unit,
    account_number, external_site_id, file_id, version, greatest(published_at, held_at) AS published_at,
    client_ids, billing_cycle_id, rate_code
FROM {database}.usage
INNER JOIN
(
    SELECT meter_id AS held_meter, external_site_id AS held_site, account_number AS held_account,
        ifNull(valid_from, toDateTime(0, 'UTC')) AS held_from,
        ifNull(valid_to, toDateTime(4294967295, 'UTC')) AS held_to,
        client_ids, toString(billing_cycle_id) AS billing_cycle_id, toString(rate_code) AS rate_code,
        published_at AS held_at
    FROM {database}.tenancy FINAL
) AS held ON held_meter = meter_id
WHERE NOT (external_site_id != held_site) AND (account_number = held_account OR (
    starts_at >= held_from AND starts_at < held_to
    AND account_number NOT IN (SELECT account_number FROM {database}.tenancy)))
COMMENT 'Reads of registered customers, one row for each read. The join has the meter as its only key, the fastest there is; the double negation keeps the site out of it';
