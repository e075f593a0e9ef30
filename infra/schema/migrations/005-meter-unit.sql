ALTER TABLE {database}.tenancy
    ADD INDEX IF NOT EXISTS unit_index unit_of_measure TYPE set(8) GRANULARITY 1;

ALTER TABLE {database}.tenancy MATERIALIZE INDEX unit_index;

CREATE OR REPLACE VIEW {database}.meter_unit
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    unit String COMMENT 'unit of all its registrations; empty where they differ',
    stretches Array(Tuple(external_site_id String, held_from DateTime('UTC'), held_to DateTime('UTC'), unit String)) COMMENT 'unit by site and time; the end is exclusive'
)
AS SELECT
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
COMMENT 'Meters of which some registration has another unit than the profile; the index keeps the others from being read';

CREATE OR REPLACE VIEW {database}.usage
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
    published_at DateTime64(3, 'UTC') COMMENT 'when the read became visible'
)
AS WITH
    (SELECT (count(), groupArrayIf(meter_id, unit = ''), groupArrayIf(stretches, unit = '')) FROM {database}.meter_unit) AS deviating,
    if(u.meter_id IN (SELECT meter_id FROM {database}.meter_unit), multiIf(
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{electricUnit}' = 'Wh', 'kWh', 'Wh')), if('{electricUnit}' = 'Wh', 'kWh', 'Wh'),
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'cm', 'ccf', 'cm')), if('{gasUnit}' = 'cm', 'ccf', 'cm'),
        arrayFirst(s -> s.1 = u.external_site_id AND s.2 <= u.starts_at AND u.starts_at < s.3,
            deviating.3[transform(u.meter_id, deviating.2, arrayEnumerate(deviating.2), 0)]).4
    ), '') AS registered_unit
SELECT
    u.meter_id AS meter_id, toString(u.commodity) AS commodity, u.starts_at AS starts_at, u.seconds AS seconds,
    u.local_day AS local_day, u.local_hour AS local_hour,
    if(deviating.1 = 0 AND '{electricUnit}' = 'kWh', u.quantity,
        if(u.commodity = 'Electric' AND if(registered_unit IN ('kWh', 'Wh'), registered_unit, '{electricUnit}') = 'Wh', u.quantity / 1000, u.quantity)) AS quantity,
    if(deviating.1 = 0, if(u.commodity = 'Gas', '{gasUnit}', 'kWh'),
        if(u.commodity = 'Gas', if(registered_unit IN ('ccf', 'cm'), registered_unit, '{gasUnit}'), 'kWh')) AS unit,
    u.account_number AS account_number, u.external_site_id AS external_site_id,
    f.file_id AS file_id, u.version AS version, f.published_at AS published_at
FROM {database}.usage_current AS u
ANY LEFT JOIN (SELECT arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
    ON f.arrival = u.arrival
COMMENT 'Current reads: one row for each meter, interval start and length; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.usage_as_of AS
WITH
    published AS
    (
        SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at
        FROM {database}.file_state FINAL
        WHERE status = 'published' AND published_at <= {known_at:DateTime64(3, 'UTC')}
    ),
    (SELECT (count(), groupArrayIf(meter_id, unit = ''), groupArrayIf(stretches, unit = '')) FROM {database}.meter_unit) AS deviating,
    if(u.meter_id IN (SELECT meter_id FROM {database}.meter_unit), multiIf(
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{electricUnit}' = 'Wh', 'kWh', 'Wh')), if('{electricUnit}' = 'Wh', 'kWh', 'Wh'),
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'cm', 'ccf', 'cm')), if('{gasUnit}' = 'cm', 'ccf', 'cm'),
        arrayFirst(s -> s.1 = u.external_site_id AND s.2 <= u.starts_at AND u.starts_at < s.3,
            deviating.3[transform(u.meter_id, deviating.2, arrayEnumerate(deviating.2), 0)]).4
    ), '') AS registered_unit
SELECT
    u.meter_id AS meter_id, toString(u.commodity) AS commodity, u.starts_at AS starts_at, u.seconds AS seconds,
    u.local_day AS local_day, u.local_hour AS local_hour,
    if(deviating.1 = 0 AND '{electricUnit}' = 'kWh', u.quantity,
        if(u.commodity = 'Electric' AND if(registered_unit IN ('kWh', 'Wh'), registered_unit, '{electricUnit}') = 'Wh', u.quantity / 1000, u.quantity)) AS quantity,
    if(deviating.1 = 0, if(u.commodity = 'Gas', '{gasUnit}', 'kWh'),
        if(u.commodity = 'Gas', if(registered_unit IN ('ccf', 'cm'), registered_unit, '{gasUnit}'), 'kWh')) AS unit,
    u.account_number AS account_number, u.external_site_id AS external_site_id,
    f.file_id AS file_id, u.version AS version, f.published_at AS published_at
FROM
(
    SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
        account_number, external_site_id, version
    FROM {database}.usage_current
    WHERE toUInt64(arrival) IN (SELECT arrival FROM published)
    UNION ALL
    SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, old_quantity AS quantity,
        old_account_number AS account_number, old_external_site_id AS external_site_id,
        old_version AS version
    FROM {database}.restatement FINAL
    WHERE bitShiftRight(old_version, 32) IN (SELECT arrival FROM published)
        AND bitShiftRight(new_version, 32) NOT IN (SELECT arrival FROM published)
        AND bitShiftRight(new_version, 32) IN
            (SELECT toUInt64(arrival) FROM {database}.file_state FINAL WHERE status = 'published')
) AS u
ANY LEFT JOIN published AS f ON f.arrival = bitShiftRight(u.version, 32)
ORDER BY u.version DESC
LIMIT 1 BY u.meter_id, u.starts_at, u.seconds
COMMENT 'Reads as they were known at an instant: SELECT * FROM usage_as_of(known_at = ''2026-01-31 12:00:00'')';
