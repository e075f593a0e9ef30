CREATE TABLE IF NOT EXISTS {database}.usage_read{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity Enum8('Electric' = 1, 'Gas' = 2) COMMENT 'what the meter measures',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC' CODEC(DoubleDelta, LZ4),
    seconds UInt32 COMMENT 'length of the interval in seconds; 86400 for a local day, even if it has 23 or 25 hours',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_hour UInt8 COMMENT 'local hour of the clock in which the interval starts, 0 to 23',
    quantity Decimal(18, 6) COMMENT 'quantity as sent',
    account_number String COMMENT 'contract account as sent',
    external_site_id String COMMENT 'premise as sent',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4),
    change UInt64 COMMENT 'change by which a registration claimed a held read; of a read under a new length the arrival or the claim that proved it; 0 for all other reads',
    is_rekeyed Bool COMMENT 'whether no read is under this key any more: it is stored under another length since, or is nobody’s by a correction that is not stored, or that was erased',
    quality Enum8('asSent' = 0, 'estimated' = 1, 'substituted' = 2) COMMENT 'what the sender says of the quantity',
    yields Bool COMMENT 'whether any read that does not yield replaces it, also one that came earlier: an estimate',
    precedence UInt64 MATERIALIZED if(yields, version, bitOr(version, 9223372036854775808)) COMMENT 'of the reads under one key the one with the highest counts' CODEC(DoubleDelta, LZ4),
    series UInt64 MATERIALIZED bitOr(
        bitAnd(cityHash64(meter_id), 18446744069414584320),
        bitAnd(cityHash64(meter_id, account_number, external_site_id, seconds), 4294967295))
        COMMENT 'number of the meter, account, premise and interval length; its upper half identifies the meter. Reads with the same number belong to one customer and can be added up',
    INDEX version_index version TYPE minmax GRANULARITY 64
) ENGINE = {engine:ReplacingMergeTree(precedence)}
ORDER BY (local_day, meter_id, starts_at, seconds)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage of the view usage; a file is attached in one step, and readers see it from then on';

CREATE TABLE IF NOT EXISTS {database}.held_read{onCluster} (
    external_site_id String COMMENT 'premise as sent',
    meter_id String COMMENT 'permanent and unique meter identifier',
    account_number String COMMENT 'contract account as sent',
    commodity Enum8('Electric' = 1, 'Gas' = 2) COMMENT 'what the meter measures',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_hour UInt8 COMMENT 'local hour of the clock in which the interval starts',
    quantity Decimal(18, 6) COMMENT 'quantity as sent',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row',
    quality Enum8('asSent' = 0, 'estimated' = 1, 'substituted' = 2) COMMENT 'what the sender says of the quantity',
    yields Bool COMMENT 'whether any read that does not yield replaces it',
    held_at DateTime('UTC') COMMENT 'when it was held'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (external_site_id, meter_id, starts_at, seconds, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Reads of registered premises or meters that belong to no client yet, where only reads of clients are stored; no view shows them';

CREATE TABLE IF NOT EXISTS {database}.held_claim{onCluster} (
    version UInt64 COMMENT 'version of a held read that a registration asks for',
    claim UInt64 COMMENT 'change that stores it; 0 until one is begun'
) ENGINE = {engine:ReplacingMergeTree(claim)}
ORDER BY version
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Held reads that registrations have asked for and that are not stored yet; empty most of the time';

CREATE TABLE IF NOT EXISTS {database}.restatement{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity Enum8('Electric' = 1, 'Gas' = 2) COMMENT 'what the meter measures',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_hour UInt8 COMMENT 'local hour of the clock in which the interval starts',
    old_quantity Decimal(18, 6) COMMENT 'quantity before, as sent',
    new_quantity Decimal(18, 6) COMMENT 'quantity after, as sent',
    old_account_number String COMMENT 'contract account before',
    old_external_site_id String COMMENT 'premise before',
    old_version UInt64 COMMENT 'version of the read before',
    new_version UInt64 COMMENT 'version of the read that replaced it; line 0 where the arrival gave the read another length',
    new_seconds UInt32 COMMENT 'length under which the read is stored since, in seconds',
    old_change UInt64 COMMENT 'change of the read before, as in usage_read',
    old_quality Enum8('asSent' = 0, 'estimated' = 1, 'substituted' = 2) COMMENT 'what the sender said of the quantity before',
    old_yields Bool COMMENT 'whether the read before yielded, as in usage_read'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (local_day, meter_id, starts_at, seconds, new_version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage of usage_restatement and usage_as_of: every read that was replaced';

CREATE TABLE IF NOT EXISTS {database}.confirmation{onCluster} (
    local_day Date COMMENT 'local calendar day on which the interval starts',
    meter_id String COMMENT 'permanent and unique meter identifier',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds',
    arrival UInt32 COMMENT 'number of the arrival that repeated the read',
    yields Bool COMMENT 'whether the repeated read is an estimate, which stands against estimates only',
    recorded_at DateTime('UTC') DEFAULT now() COMMENT 'when it was recorded'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (local_day, meter_id, starts_at, seconds, arrival)
TTL recorded_at + INTERVAL 30 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Reads that a file repeated unchanged while an earlier arrival of its feed was pending; reads of that earlier arrival cannot replace them';

CREATE TABLE IF NOT EXISTS {database}.provisional_length{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    local_day Date COMMENT 'local calendar day on which the intervals start',
    seconds UInt32 COMMENT 'length under which the reads of the arrival are stored on that day',
    arrival UInt32 COMMENT 'arrival whose rows did not prove the length',
    proved_by UInt32 COMMENT 'arrival that proved a length for these reads, under which they are stored since, or their own if it was known when they were claimed; 0 while none is',
    proved_seconds UInt32 COMMENT 'that length, in seconds',
    recorded_at DateTime('UTC') DEFAULT now() COMMENT 'when it was recorded'
) ENGINE = {engine:ReplacingMergeTree(proved_by)}
ORDER BY (meter_id, local_day, seconds, arrival)
TTL recorded_at + INTERVAL 400 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Interval lengths that were guessed, because neither stored reads nor rows of the file proved them; recorded before the reads are stored';

CREATE TABLE IF NOT EXISTS {database}.usage_day_row{onCluster} (
    local_day Date COMMENT 'local calendar day',
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity Enum8('Electric' = 1, 'Gas' = 2) COMMENT 'what the meter measures',
    seconds UInt32 COMMENT 'interval length of the finest series that the meter has on the day',
    quantity Decimal(38, 6) COMMENT 'sum over the intervals of that series, as sent',
    intervals UInt32 COMMENT 'intervals present; 0 if the reads of the day are gone',
    exported Decimal(38, 6) COMMENT 'the sum of those below 0, without its sign, as sent',
    peak_quantity Decimal(18, 6) COMMENT 'highest quantity of an interval, as sent',
    peak_starts_at DateTime('UTC') COMMENT 'start of an interval with that quantity, UTC',
    published_at DateTime64(3, 'UTC') COMMENT 'when the latest of its reads was published',
    published_seq UInt64 COMMENT 'the highest number of publication of its reads',
    version UInt64 COMMENT 'the latest number of publication when the row was made: it has all reads up to there'
) ENGINE = {engine:ReplacingMergeTree(version)}
ORDER BY (local_day, meter_id, commodity)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage of the view usage_day: what the reads of each meter and day add up to, except for what is in stale_day';

CREATE TABLE IF NOT EXISTS {database}.stale_day{onCluster} (
    change UInt64 COMMENT 'what changes reads: an arrival, or a change of usage_change_row',
    arrival UInt32 COMMENT 'arrival whose reads changed; 0 if none is known',
    meter_id String COMMENT 'meter whose reads changed; empty for all meters of the day',
    local_day Date COMMENT 'first local calendar day',
    last_local_day Date COMMENT 'last local calendar day, inclusive',
    cause Enum8('file' = 1, 'claim' = 2, 'erasure' = 3, 'repair' = 4) COMMENT 'what changed the reads',
    is_built Bool COMMENT 'whether the stored days have been made since',
    recorded_at DateTime('UTC') DEFAULT now() COMMENT 'when it was recorded'
) ENGINE = {engine:ReplacingMergeTree(is_built)}
ORDER BY (change, arrival, meter_id, local_day)
TTL recorded_at + INTERVAL 30 DAY DELETE WHERE is_built
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Days whose stored sums may differ from their reads, recorded before the reads change; usage_day reads their intervals until they are made again';

CREATE OR REPLACE VIEW {database}.usage_current{onCluster}
AS SELECT *, series, precedence, toUInt32(bitShiftRight(version, 32)) AS arrival
FROM {database}.usage_read FINAL
WHERE NOT is_rekeyed
COMMENT 'Current reads before any join';

CREATE OR REPLACE VIEW {database}.usage{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity String COMMENT 'Electric or Gas',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds; 86400 for a local day, even if it has 23 or 25 hours',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_hour UInt8 COMMENT 'local hour of the clock in which the interval starts, 0 to 23',
    local_start DateTime('{timeZone}') COMMENT 'starts_at as the clock of the utility shows it, in its time zone',
    time_zone String COMMENT 'time zone of the utility, of local_day, local_hour and local_start',
    quantity Decimal(38, 9) COMMENT 'quantity of the interval, in unit; exact, also where Wh were sent',
    unit String COMMENT 'kWh, ccf, cm or therm',
    quality String COMMENT 'what the sender says of the quantity: asSent where it says nothing, estimated, or substituted',
    account_number String COMMENT 'contract account as sent with the read',
    external_site_id String COMMENT 'premise as sent with the read',
    file_id String COMMENT 'sha256 of the file that the read came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its file was published; NULL for the moment between the attach of the file and its number',
    published_seq Nullable(UInt64) COMMENT 'number of the publication of the read; pull increments by it. NULL for the same moment'
) AS WITH
    (SELECT (groupArray(change), groupArray(published_seq), groupArray(published_at)) FROM {database}.publication WHERE kind = 'claim' OR rekeys) AS claims,
    (SELECT (count(), groupArrayIf(meter_id, unit = ''), groupArrayIf(stretches, unit = '')) FROM {database}.meter_unit) AS deviating,
    if(u.meter_id IN (SELECT meter_id FROM {database}.meter_unit), multiIf(
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{electricUnit}' = 'Wh', 'kWh', 'Wh')), if('{electricUnit}' = 'Wh', 'kWh', 'Wh'),
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'ccf', 'cm', 'ccf')), if('{gasUnit}' = 'ccf', 'cm', 'ccf'),
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'therm', 'cm', 'therm')), if('{gasUnit}' = 'therm', 'cm', 'therm'),
        arrayFirst(s -> s.1 = u.external_site_id AND s.2 <= u.starts_at AND u.starts_at < s.3,
            deviating.3[transform(u.meter_id, deviating.2, arrayEnumerate(deviating.2), 0)]).4
    ), '') AS registered_unit
SELECT
    u.meter_id AS meter_id, toString(u.commodity) AS commodity, u.starts_at AS starts_at, u.seconds AS seconds,
    u.local_day AS local_day, u.local_hour AS local_hour, toTimeZone(u.starts_at, '{timeZone}') AS local_start, '{timeZone}' AS time_zone,
    if(deviating.1 = 0 AND '{electricUnit}' = 'kWh', toDecimal128(u.quantity, 9), toDecimal128(u.quantity, 9) /
        if(u.commodity = 'Electric' AND if(registered_unit IN ('kWh', 'Wh'), registered_unit, '{electricUnit}') = 'Wh', 1000, 1)) AS quantity,
    if(deviating.1 = 0, if(u.commodity = 'Gas', '{gasUnit}', 'kWh'),
        if(u.commodity = 'Gas', if(registered_unit IN ('ccf', 'cm', 'therm'), registered_unit, '{gasUnit}'), 'kWh')) AS unit,
    toString(u.quality) AS quality, u.account_number AS account_number, u.external_site_id AS external_site_id,
    f.file_id AS file_id, u.version AS version,
    if(f.published_seq = 0, NULL, if(empty(claims.1), f.published_at, greatest(f.published_at, transform(u.change, claims.1, claims.3, toDateTime64(0, 3, 'UTC'))))) AS published_at,
    if(f.published_seq = 0, NULL, if(empty(claims.1), f.published_seq, greatest(f.published_seq, transform(u.change, claims.1, claims.2, toUInt64(0))))) AS published_seq
FROM {database}.usage_current AS u
ANY LEFT JOIN
(
    SELECT arrival, any(file_id) AS file_id, max(published_at) AS published_at, max(published_seq) AS published_seq
    FROM
    (
        SELECT arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0
        UNION ALL
        SELECT arrival, file_id, toDateTime64(0, 3, 'UTC') AS published_at, toUInt64(0) AS published_seq
        FROM {database}.file_state FINAL WHERE settled_at IS NULL AND status IN ('publishing', 'published')
    )
    GROUP BY arrival
) AS f ON f.arrival = u.arrival
SETTINGS join_use_nulls = 0
COMMENT 'Current reads: one row for each meter, interval start and length; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.meter_days{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity String COMMENT 'Electric or Gas',
    first_day Date COMMENT 'local calendar day of its first read',
    last_day Date COMMENT 'last local calendar day of its tenancies; 2149-06-06 if it has none, or one that lasts'
) AS SELECT
    meter_id, toString(a.commodity) AS commodity, toDate(min(a.first_read), '{timeZone}') AS first_day,
    if(any(t.ends) = 0, toDate('2149-06-06'), toDate(any(t.ends) - 1, '{timeZone}')) AS last_day
FROM {database}.account_meter AS a
ANY LEFT JOIN
(
    SELECT meter_id, if(countIf(valid_to IS NULL) > 0, 0, toUInt32(max(assumeNotNull(valid_to)))) AS ends
    FROM {database}.tenancy FINAL
    GROUP BY meter_id
) AS t USING (meter_id)
GROUP BY meter_id, commodity
SETTINGS join_use_nulls = 0
COMMENT 'The days on which a meter should have reads';

CREATE OR REPLACE VIEW {database}.usage_day{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity String COMMENT 'Electric or Gas',
    local_day Date COMMENT 'local calendar day',
    seconds UInt32 COMMENT 'interval length of the finest series that the meter has on that day; on a day without reads the usual length of the profile',
    unit String COMMENT 'kWh, ccf, cm or therm',
    quantity Nullable(Decimal(38, 9)) COMMENT 'sum over the intervals of that series; NULL on a day without reads',
    intervals_expected UInt32 COMMENT 'intervals of that length in a local day of 23, 24 or 25 hours; 1 for daily reads',
    intervals_present UInt32 COMMENT 'intervals present; 0 on a day without reads',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the latest of their files was published; NULL on a day without reads',
    published_seq Nullable(UInt64) COMMENT 'the highest number of theirs; pull increments by it. NULL on a day without reads',
    time_zone String COMMENT 'time zone of the utility, of local_day and peak_start',
    exported Nullable(Decimal(38, 9)) COMMENT 'sum of the intervals below 0, without its sign: energy that was delivered to the grid. NULL on a day without reads',
    peak_quantity Nullable(Decimal(38, 9)) COMMENT 'highest quantity of an interval of that series; NULL on a day without reads',
    peak_start Nullable(DateTime('{timeZone}')) COMMENT 'start of an interval with that quantity, in the time zone of the utility; NULL on a day without reads'
) AS WITH
    (SELECT (groupUniqArrayIf(local_day, meter_id = ''), groupUniqArrayIf((local_day, meter_id), meter_id != '' AND local_day = last_local_day),
        groupUniqArrayIf(meter_id, local_day < last_local_day), minIf(local_day, local_day < last_local_day), maxIf(last_local_day, local_day < last_local_day))
        FROM {database}.stale_day FINAL WHERE NOT is_built) AS stale,
    (SELECT tuple(groupArray(meter_id)) FROM {database}.meter_unit WHERE unit = '') AS mixed
SELECT
    meter_id, commodity, local_day, if(length = 4294967295, if(commodity = 'Gas', {gasSeconds}, {electricSeconds}), length) AS seconds,
    if(own_unit = '', if(commodity = 'Gas', '{gasUnit}', 'kWh'), own_unit) AS unit, quantity,
    if(seconds >= 86400, 1, intDiv(dateDiff('second',
        toDateTime(local_day, '{timeZone}'), toDateTime(local_day + 1, '{timeZone}')), seconds)) AS intervals_expected,
    intervals_present, published_at, published_seq, '{timeZone}' AS time_zone, exported, peak_quantity, peak_start
FROM
(
    SELECT meter_id, commodity, local_day, min(m.seconds) AS length, max(m.unit) AS own_unit, any(m.quantity) AS quantity,
        max(m.present) AS intervals_present, any(m.published_at) AS published_at, any(m.published_seq) AS published_seq,
        any(m.exported) AS exported, any(m.peak_quantity) AS peak_quantity, any(m.peak_start) AS peak_start
    FROM
    (
        WITH if(d.commodity = 'Electric' AND ('{electricUnit}' = 'Wh') !=
            (d.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{electricUnit}' = 'Wh', 'kWh', 'Wh'))), 1000, 1) AS per_unit
        SELECT d.meter_id AS meter_id, toString(d.commodity) AS commodity, d.local_day AS local_day, d.seconds AS seconds,
            multiIf(d.commodity = 'Electric', 'kWh',
                d.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'ccf', 'cm', 'ccf')), if('{gasUnit}' = 'ccf', 'cm', 'ccf'),
                d.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'therm', 'cm', 'therm')), if('{gasUnit}' = 'therm', 'cm', 'therm'),
                '{gasUnit}') AS unit,
            toNullable(toDecimal128(d.quantity, 9) / per_unit) AS quantity, d.intervals AS present,
            toNullable(toDecimal128(d.exported, 9) / per_unit) AS exported,
            toNullable(toDecimal128(d.peak_quantity, 9) / per_unit) AS peak_quantity,
            toNullable(toTimeZone(d.peak_starts_at, '{timeZone}')) AS peak_start,
            nullIf(d.published_at, toDateTime64(0, 3, 'UTC')) AS published_at, nullIf(d.published_seq, 0) AS published_seq
        FROM {database}.usage_day_row AS d FINAL
        WHERE d.intervals > 0 AND NOT (d.local_day IN stale.1 OR (d.local_day, d.meter_id) IN stale.2
            OR d.meter_id IN stale.3 AND d.local_day BETWEEN stale.4 AND stale.5 OR d.meter_id IN mixed.1)
        UNION ALL
        SELECT meter_id, commodity, local_day, finest.1 AS seconds, finest.2 AS unit, finest.3 AS quantity, finest.4 AS present,
            finest.5 AS exported, finest.6 AS peak_quantity, finest.7 AS peak_start, finest.8 AS published_at, finest.9 AS published_seq
        FROM
        (
            SELECT meter_id, commodity, local_day,
                argMin((seconds, unit, quantity, present, exported, peak_quantity, peak_start, published_at, published_seq), seconds) AS finest
            FROM
            (
                SELECT u.meter_id AS meter_id, u.commodity AS commodity, u.local_day AS local_day, u.seconds AS seconds, any(u.unit) AS unit,
                    toNullable(sum(u.quantity)) AS quantity, toUInt32(count()) AS present, toNullable(-sumIf(u.quantity, u.quantity < 0)) AS exported,
                    toNullable(max(u.quantity)) AS peak_quantity, toNullable(argMax(u.local_start, u.quantity)) AS peak_start,
                    max(u.published_at) AS published_at, max(u.published_seq) AS published_seq
                FROM {database}.usage AS u
                WHERE u.local_day IN stale.1 OR (u.local_day, u.meter_id) IN stale.2
                    OR u.meter_id IN stale.3 AND u.local_day BETWEEN stale.4 AND stale.5 OR u.meter_id IN mixed.1
                GROUP BY meter_id, commodity, local_day, seconds
            )
            GROUP BY meter_id, commodity, local_day
        )
        UNION ALL
        SELECT d.meter_id AS meter_id, d.commodity AS commodity, c.local_day AS local_day, toUInt32(4294967295) AS seconds, '' AS unit,
            CAST(NULL, 'Nullable(Decimal(38, 9))') AS quantity, toUInt32(0) AS present,
            CAST(NULL, 'Nullable(Decimal(38, 9))') AS exported, CAST(NULL, 'Nullable(Decimal(38, 9))') AS peak_quantity,
            CAST(NULL, 'Nullable(DateTime(''{timeZone}''))') AS peak_start,
            CAST(NULL, 'Nullable(DateTime64(3, ''UTC''))') AS published_at, CAST(NULL, 'Nullable(UInt64)') AS published_seq
        FROM
        (
            SELECT toDate(arrayJoin(range(first_day, last_day + 1))) AS local_day
            FROM (SELECT toUInt32(min(local_day)) AS first_day, toUInt32(least(max(local_day), toDate(now(), '{timeZone}'))) AS last_day FROM {database}.usage_read)
        ) AS c
        CROSS JOIN {database}.meter_days AS d
        WHERE c.local_day BETWEEN d.first_day AND d.last_day
    ) AS m
    GROUP BY meter_id, commodity, local_day
) AS v
COMMENT 'The finest series of each meter and day with its completeness, stored and always equal to the reads. Gaps are never filled; a meter without reads on a day has a row from its first read until its last tenancy ends';

CREATE OR REPLACE VIEW {database}.registered_usage{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity String COMMENT 'Electric or Gas',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds; 86400 for a local day, even if it has 23 or 25 hours',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_hour UInt8 COMMENT 'local hour of the clock in which the interval starts, 0 to 23',
    local_start DateTime('{timeZone}') COMMENT 'starts_at as the clock of the utility shows it, in its time zone',
    time_zone String COMMENT 'time zone of the utility, of local_day, local_hour and local_start',
    quantity Decimal(38, 9) COMMENT 'quantity of the interval, in unit; exact, also where Wh were sent',
    unit String COMMENT 'kWh, ccf, cm or therm',
    quality String COMMENT 'what the sender says of the quantity: asSent where it says nothing, estimated, or substituted',
    account_number String COMMENT 'contract account as sent with the read',
    external_site_id String COMMENT 'premise as sent with the read',
    file_id String COMMENT 'sha256 of the file that the read came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the file of the read was published and its owner known',
    published_seq Nullable(UInt64) COMMENT 'number of the publication that made the read visible here; pull increments by it. NULL for the moment between the attach of a file, or the change of an owner, and its number',
    client_ids Array(String) COMMENT 'clients that own the read; several if they share the account',
    billing_cycle_id String COMMENT 'billing cycle of the meter when the read starts, as text',
    rate_code String COMMENT 'rate of the meter when the read starts'
) AS SELECT
    meter_id, commodity, starts_at, seconds, local_day, local_hour, local_start, time_zone, quantity, unit, quality,
    account_number, external_site_id, file_id, version,
    if(held_seq = 0 OR isNull(published_seq), NULL, greatest(published_at, held_at)) AS published_at,
    if(held_seq = 0 OR isNull(published_seq), NULL, greatest(published_seq, held_seq)) AS published_seq,
    client_ids, arrayLast(c -> c.1 <= starts_at, codes).3 AS billing_cycle_id, arrayLast(c -> c.1 <= starts_at, codes).2 AS rate_code
FROM {database}.usage
INNER JOIN
(
    SELECT meter_id AS held_meter, external_site_id AS held_site, hold.1 AS held_account, hold.2 AS held_from,
        hold.3 AS held_to, hold.4 AS client_ids, p.published_at AS held_at, p.published_seq AS held_seq, codes
    FROM (SELECT meter_id, external_site_id, hold, codes FROM {database}.tenancy FINAL ARRAY JOIN holds AS hold) AS t
    ANY LEFT JOIN {database}.change_number AS p ON p.change = hold.6
) AS held ON held_meter = meter_id
WHERE NOT (external_site_id != held_site) AND starts_at >= held_from AND starts_at < held_to
    AND (account_number = held_account OR (held_account = '\0'
        AND account_number NOT IN (SELECT account_number FROM {database}.tenancy)))
SETTINGS join_use_nulls = 0
COMMENT 'Reads of registered customers, one row for each read. For one client, filter by meter too: WHERE meter_id IN (SELECT meter_id FROM registration WHERE client_id = ''1'') AND has(client_ids, ''1'')';

CREATE OR REPLACE VIEW {database}.usage_restatement{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_start DateTime('{timeZone}') COMMENT 'starts_at as the clock of the utility shows it, in its time zone',
    time_zone String COMMENT 'time zone of the utility, of local_day and local_start',
    old_quantity Decimal(18, 6) COMMENT 'quantity before, as sent',
    new_quantity Decimal(18, 6) COMMENT 'quantity after, as sent',
    new_seconds UInt32 COMMENT 'length of the interval since, in seconds; another one where a later file proved the length of a provisional read',
    unit String COMMENT 'unit of both quantities: kWh, Wh, ccf, cm or therm',
    old_quality String COMMENT 'what the sender said of the old quantity, as in usage',
    old_file_id String COMMENT 'sha256 of the file that the old read came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new read became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS WITH
    (SELECT (count(), groupArrayIf(meter_id, unit = ''), groupArrayIf(stretches, unit = '')) FROM {database}.meter_unit) AS deviating,
    if(r.meter_id IN (SELECT meter_id FROM {database}.meter_unit), multiIf(
        r.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{electricUnit}' = 'Wh', 'kWh', 'Wh')), if('{electricUnit}' = 'Wh', 'kWh', 'Wh'),
        r.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'ccf', 'cm', 'ccf')), if('{gasUnit}' = 'ccf', 'cm', 'ccf'),
        r.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'therm', 'cm', 'therm')), if('{gasUnit}' = 'therm', 'cm', 'therm'),
        arrayFirst(s -> s.1 = r.old_external_site_id AND s.2 <= r.starts_at AND r.starts_at < s.3,
            deviating.3[transform(r.meter_id, deviating.2, arrayEnumerate(deviating.2), 0)]).4
    ), '') AS registered_unit
SELECT
    r.meter_id AS meter_id, r.starts_at AS starts_at, r.seconds AS seconds, r.local_day AS local_day,
    toTimeZone(r.starts_at, '{timeZone}') AS local_start, '{timeZone}' AS time_zone,
    r.old_quantity AS old_quantity, r.new_quantity AS new_quantity, r.new_seconds AS new_seconds,
    if(r.commodity = 'Gas', if(registered_unit IN ('ccf', 'cm', 'therm'), registered_unit, '{gasUnit}'),
        if(registered_unit IN ('kWh', 'Wh'), registered_unit, '{electricUnit}')) AS unit,
    toString(r.old_quality) AS old_quality, o.file_id AS old_file_id, n.file_id AS new_file_id,
    n.published_at AS restated_at, n.published_at AS published_at, n.published_seq AS published_seq
FROM {database}.restatement AS r FINAL
INNER JOIN (SELECT arrival, file_id, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS n
    ON n.arrival = bitShiftRight(r.new_version, 32)
LEFT JOIN (SELECT arrival, file_id FROM {database}.file_state FINAL) AS o
    ON o.arrival = bitShiftRight(r.old_version, 32)
WHERE r.old_quantity != r.new_quantity OR r.new_seconds != r.seconds
SETTINGS join_use_nulls = 0
COMMENT 'Reads that a later file replaced by another value or stored under another length';

CREATE OR REPLACE VIEW {database}.usage_as_of{onCluster} AS
WITH
    published AS
    (
        SELECT toUInt64(arrival) AS arrival, file_id, published_at, published_seq
        FROM {database}.publication
        WHERE arrival != 0 AND published_at <= {known_at:DateTime64(3, 'UTC')}
    ),
    (SELECT (count(), groupArrayIf(meter_id, unit = ''), groupArrayIf(stretches, unit = '')) FROM {database}.meter_unit) AS deviating,
    if(u.meter_id IN (SELECT meter_id FROM {database}.meter_unit), multiIf(
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{electricUnit}' = 'Wh', 'kWh', 'Wh')), if('{electricUnit}' = 'Wh', 'kWh', 'Wh'),
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'ccf', 'cm', 'ccf')), if('{gasUnit}' = 'ccf', 'cm', 'ccf'),
        u.meter_id IN (SELECT meter_id FROM {database}.meter_unit WHERE unit = if('{gasUnit}' = 'therm', 'cm', 'therm')), if('{gasUnit}' = 'therm', 'cm', 'therm'),
        arrayFirst(s -> s.1 = u.external_site_id AND s.2 <= u.starts_at AND u.starts_at < s.3,
            deviating.3[transform(u.meter_id, deviating.2, arrayEnumerate(deviating.2), 0)]).4
    ), '') AS registered_unit
SELECT
    u.meter_id AS meter_id, toString(u.commodity) AS commodity, u.starts_at AS starts_at, u.seconds AS seconds,
    u.local_day AS local_day, u.local_hour AS local_hour, toTimeZone(u.starts_at, '{timeZone}') AS local_start, '{timeZone}' AS time_zone,
    if(deviating.1 = 0 AND '{electricUnit}' = 'kWh', toDecimal128(u.quantity, 9), toDecimal128(u.quantity, 9) /
        if(u.commodity = 'Electric' AND if(registered_unit IN ('kWh', 'Wh'), registered_unit, '{electricUnit}') = 'Wh', 1000, 1)) AS quantity,
    if(deviating.1 = 0, if(u.commodity = 'Gas', '{gasUnit}', 'kWh'),
        if(u.commodity = 'Gas', if(registered_unit IN ('ccf', 'cm', 'therm'), registered_unit, '{gasUnit}'), 'kWh')) AS unit,
    toString(u.quality) AS quality, u.account_number AS account_number, u.external_site_id AS external_site_id,
    f.file_id AS file_id, u.version AS version, toNullable(greatest(f.published_at, r.published_at)) AS published_at,
    toNullable(greatest(f.published_seq, r.published_seq)) AS published_seq
FROM
(
    SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity, quality,
        account_number, external_site_id, version, change, precedence
    FROM {database}.usage_current
    WHERE toUInt64(arrival) IN (SELECT arrival FROM published)
        AND (change = 0 OR change > 4294967295 OR change IN (SELECT arrival FROM published))
    UNION ALL
    SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, old_quantity AS quantity, old_quality AS quality,
        old_account_number AS account_number, old_external_site_id AS external_site_id,
        old_version AS version, old_change AS change, if(old_yields, old_version, bitOr(old_version, 9223372036854775808)) AS precedence
    FROM {database}.restatement FINAL
    WHERE bitShiftRight(old_version, 32) IN (SELECT arrival FROM published)
        AND (old_change = 0 OR old_change > 4294967295 OR old_change IN (SELECT arrival FROM published))
        AND bitShiftRight(new_version, 32) NOT IN (SELECT arrival FROM published)
) AS u
ANY LEFT JOIN published AS f ON f.arrival = bitShiftRight(u.version, 32)
ANY LEFT JOIN published AS r ON r.arrival = u.change
ORDER BY u.precedence DESC
LIMIT 1 BY u.meter_id, u.starts_at, u.seconds
SETTINGS join_use_nulls = 0
COMMENT 'Reads as known at an instant: SELECT * FROM usage_as_of(known_at = ''2026-01-31 12:00:00''). It has the columns of the view usage; see their comments there, because ClickHouse stores none for a view with a parameter';

CREATE OR REPLACE VIEW {database}.usage_change{onCluster} (
    published_seq UInt64 COMMENT 'number of the publication of the change; pull increments by it',
    published_at DateTime64(3, 'UTC') COMMENT 'when the change became visible',
    meter_id String COMMENT 'permanent and unique meter identifier',
    local_day Date COMMENT 'first local calendar day whose reads changed',
    last_local_day Date COMMENT 'last local calendar day whose reads changed, inclusive',
    client_ids_before Array(String) COMMENT 'clients that owned the reads before; an erasure names none, and removes clients who have nothing at the meter any more',
    client_ids_after Array(String) COMMENT 'clients that own the reads since; empty if nobody does, or if they were erased later',
    cause String COMMENT 'ownership: a registration, a move or the end of a tenancy; read: a file moved reads to another account or premise or proved another length for them, a repair brought missing reads back, or a registration claimed held reads; cost: another rate, cycle or unit; erasure: an account was erased, and its reads are gone'
) AS SELECT
    p.published_seq AS published_seq, p.published_at AS published_at, r.meter_id AS meter_id, r.local_day AS local_day,
    r.last_local_day AS last_local_day, r.client_ids_before AS client_ids_before, r.client_ids_after AS client_ids_after,
    toString(r.cause) AS cause
FROM {database}.usage_change_row AS r
INNER JOIN (SELECT change, published_seq, published_at FROM {database}.publication WHERE change != 0) AS p ON p.change = r.change
WHERE r.meter_id != ''
COMMENT 'What changed for clients without a new row in registered_usage: read the days of the meter again. Kept for 400 days';
