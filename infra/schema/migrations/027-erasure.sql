CREATE TABLE IF NOT EXISTS {database}.erasure
(
    account_number String COMMENT 'contract account that was terminated',
    meter_id String COMMENT 'meter that was meant, empty where all meters of the account were',
    external_site_id String COMMENT 'premise that was meant, empty where all were',
    terminated_on Date COMMENT 'last day of the account',
    ended_at DateTime('UTC') COMMENT 'end of that day',
    stretches Array(Tuple(meter_id String, external_site_id String, held_from DateTime('UTC'), held_to DateTime('UTC'), weight UInt32)) COMMENT 'what the account had held until then, and the number of facts that told so',
    counts Map(String, UInt64) COMMENT 'rows that were erased, by table',
    started_at DateTime64(3, 'UTC') COMMENT 'since when no row of the account is taken in any more',
    erased_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when everything was erased; NULL until then',
    rank UInt8 COMMENT '1 since it was started, 2 since everything was erased, 3 since the tenancies that followed are told anew'
)
ENGINE = ReplacingMergeTree(rank)
ORDER BY (account_number, meter_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What stays of accounts that were terminated and erased: that they were, and how many rows';

CREATE OR REPLACE VIEW {database}.tenancy_hint
(
    kind String COMMENT 'bill: the meter became active for the account; ended: the account was terminated',
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise, empty where all are meant',
    meter_id String COMMENT 'meter, empty where all are meant',
    at DateTime('UTC') COMMENT 'when',
    told UInt64 COMMENT 'order in which it was told',
    weight UInt32 COMMENT 'facts that it stands for'
)
AS
    SELECT 'bill' AS kind, account_number, external_site_id, meter_id,
        toTimeZone(toDateTime(min(assumeNotNull(meter_effective_date)), '{timeZone}'), 'UTC') AS at, max(version) AS told, toUInt32(1) AS weight
    FROM {database}.billing_period
    WHERE meter_effective_date IS NOT NULL
    GROUP BY account_number, external_site_id, meter_id
UNION ALL
    SELECT 'ended' AS kind, account_number, external_site_id, meter_id,
        toTimeZone(toDateTime(termination_date + 1, '{timeZone}'), 'UTC') AS at, version AS told, toUInt32(1) AS weight
    FROM (SELECT * FROM {database}.termination_row LIMIT 1 BY version)
    WHERE bitShiftRight(version, 32) IN (SELECT toUInt64(arrival) FROM {database}.file_state FINAL WHERE status = 'published')
UNION ALL
    SELECT 'ended' AS kind, account_number, held.2 AS external_site_id, held.1 AS meter_id,
        ended_at AS at, toUInt64(18446744073709551615) AS told, held.5 AS weight
    FROM {database}.erasure FINAL
    ARRAY JOIN stretches AS held
    WHERE erased_at IS NOT NULL
COMMENT 'What bills, terminations and erasures tell of the starts and ends of tenancies';

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
