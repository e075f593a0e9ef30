CREATE TABLE IF NOT EXISTS {database}.usage_read
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity Enum8('Electric' = 1, 'Gas' = 2) COMMENT 'what the meter measures',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC' CODEC(DoubleDelta, LZ4),
    seconds UInt32 COMMENT 'length of the interval in seconds; 86400 for a local day, whatever its length',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    local_hour UInt8 COMMENT 'local hour of the clock in which the interval starts, 0 to 23',
    quantity Decimal(18, 6) COMMENT 'quantity as sent',
    account_number String COMMENT 'contract account as sent',
    external_site_id String COMMENT 'premise as sent',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4),
    INDEX version_index version TYPE minmax GRANULARITY 64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (local_day, meter_id, starts_at, seconds)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind the view usage: published reads and, while its file is being published, hidden ones';

CREATE OR REPLACE VIEW {database}.file_load
(
    file_id String COMMENT 'sha256 of the bytes as received, hexadecimal',
    arrival UInt32 COMMENT 'number of the arrival, in the order in which files came in',
    file_name String COMMENT 'file name as the sender gave it',
    source LowCardinality(String) COMMENT 'source of the profile, or submit where a person named the file',
    company_code LowCardinality(String) COMMENT 'company code of the file name',
    file_date Nullable(Date) COMMENT 'date of the file name',
    feed LowCardinality(String) COMMENT 'feed of the file name',
    status String COMMENT 'received, loading, waiting, publishing, published or quarantined',
    fault String COMMENT 'code of what kept the file from being published, empty if nothing',
    reason String COMMENT 'the same in words',
    bytes UInt64 COMMENT 'size as received, bytes',
    rows_read UInt64 COMMENT 'rows counted in the bytes on arrival',
    rows_accepted UInt64 COMMENT 'rows published',
    rows_duplicate UInt64 COMMENT 'rows equal to one that stands already',
    rows_superseded UInt64 COMMENT 'rows replaced by a later row of the file or of a later file',
    rows_rejected UInt64 COMMENT 'rows that are not usable',
    rows_unregistered UInt64 COMMENT 'rows of meters that the profile does not store',
    quantity_read Decimal(38, 6) COMMENT 'sum of the quantities of rows_read, as sent',
    quantity_accepted Decimal(38, 6) COMMENT 'sum of the quantities of rows_accepted, as sent',
    quantity_duplicate Decimal(38, 6) COMMENT 'sum of the quantities of rows_duplicate, as sent',
    quantity_superseded Decimal(38, 6) COMMENT 'sum of the quantities of rows_superseded, as sent',
    quantity_rejected Decimal(38, 6) COMMENT 'sum of the quantities of rows_rejected where readable',
    quantity_unregistered Decimal(38, 6) COMMENT 'sum of the quantities of rows_unregistered, as sent',
    restated_rows UInt64 COMMENT 'accepted rows that replaced another value',
    restated_net_quantity Decimal(38, 6) COMMENT 'sum of new minus old quantity of the restated rows',
    meters UInt64 COMMENT 'different meters among the usable rows',
    first_interval_start Nullable(DateTime('UTC')) COMMENT 'start of the earliest usable interval',
    last_interval_end Nullable(DateTime('UTC')) COMMENT 'end of the latest usable interval',
    notes String COMMENT 'JSON: timestamp format, date order and its proof, warnings',
    received_at DateTime64(3, 'UTC') COMMENT 'when the file was taken in',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its rows became visible',
    settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when receipt and rejects were handed out and the file was put away'
)
AS SELECT
    file_id, arrival, file_name, source, company_code, file_date, feed,
    if(status = 'received' AND arrival IN (SELECT arrival FROM {database}.chunk_receipt), 'loading', status) AS status,
    fault, reason, bytes,
    rows_read, rows_accepted, rows_duplicate, rows_superseded, rows_rejected, rows_unregistered,
    quantity_read, quantity_accepted, quantity_duplicate, quantity_superseded, quantity_rejected, quantity_unregistered,
    restated_rows, restated_net_quantity, meters, first_interval_start, last_interval_end,
    notes, received_at, published_at, settled_at
FROM {database}.file_state FINAL
WHERE status NOT IN ('duplicate', 'replaced')
COMMENT 'One current row for each file: how far it has come and where its rows went';

CREATE OR REPLACE VIEW {database}.file_arrival
(
    arrival UInt32 COMMENT 'number of the arrival, in the order in which files came in',
    file_name String COMMENT 'file name as the sender gave it',
    source LowCardinality(String) COMMENT 'source of the profile, or submit where a person named the file',
    bytes UInt64 COMMENT 'size when it was listed, bytes',
    arrived_at DateTime64(3, 'UTC') COMMENT 'when it was first seen',
    file_id String COMMENT 'sha256 of the bytes as received, empty until they were read',
    status String COMMENT 'state of the arrival; duplicate where the same file is published already',
    duplicate_of UInt32 COMMENT 'arrival of the published file that this one repeats, 0 if none'
)
AS SELECT
    a.arrival AS arrival, a.name AS file_name, a.source AS source, a.bytes AS bytes, a.arrived_at AS arrived_at,
    s.file_id AS file_id, if(s.status = '', 'arrived', s.status) AS status, s.duplicate_of AS duplicate_of
FROM {database}.arrival AS a
LEFT JOIN (SELECT arrival, file_id, status, duplicate_of FROM {database}.file_state FINAL) AS s ON s.arrival = a.arrival
COMMENT 'Every arrival of every file, duplicates too';

CREATE OR REPLACE VIEW {database}.rejected_row
(
    file_id String COMMENT 'sha256 of the bytes of the file as received',
    file_name String COMMENT 'file name as the sender gave it',
    arrival UInt32 COMMENT 'number of the arrival',
    line UInt32 COMMENT 'physical line on which the row starts, the header being 1',
    column_name LowCardinality(String) COMMENT 'the first column that failed, empty where the whole row did',
    code LowCardinality(String) COMMENT 'what is wrong',
    detail String COMMENT 'the same in words',
    raw String COMMENT 'the row as it stood, cut to 1,000 bytes',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the rest of its file became visible; NULL where the file is quarantined'
)
AS SELECT
    f.file_id AS file_id, f.file_name AS file_name, r.arrival AS arrival, r.line AS line,
    r.column_name AS column_name, r.code AS code, r.detail AS detail, r.raw AS raw, f.published_at AS published_at
FROM {database}.reject AS r FINAL
INNER JOIN
(
    SELECT arrival, file_id, file_name, published_at FROM {database}.file_state FINAL
    WHERE status IN ('published', 'quarantined')
) AS f ON f.arrival = r.arrival
COMMENT 'Rows that are not usable, with line, column and reason';

CREATE OR REPLACE VIEW {database}.usage_current
AS SELECT *, toUInt32(bitShiftRight(version, 32)) AS arrival
FROM {database}.usage_read FINAL
PREWHERE bitShiftRight(version, 32) NOT IN
    (SELECT toUInt64(arrival) FROM {database}.file_state FINAL WHERE status = 'publishing')
COMMENT 'Published reads without what only a join can tell: the rows of a file that is being published are left out ahead of FINAL';

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
AS SELECT
    u.meter_id AS meter_id, toString(u.commodity) AS commodity, u.starts_at AS starts_at, u.seconds AS seconds,
    u.local_day AS local_day, u.local_hour AS local_hour,
    if(u.commodity = 'Electric' AND '{electricUnit}' = 'Wh', u.quantity / 1000, u.quantity) AS quantity,
    if(u.commodity = 'Gas', '{gasUnit}', 'kWh') AS unit,
    u.account_number AS account_number, u.external_site_id AS external_site_id,
    f.file_id AS file_id, u.version AS version, f.published_at AS published_at
FROM {database}.usage_current AS u
ANY LEFT JOIN (SELECT arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
    ON f.arrival = u.arrival
COMMENT 'Current reads: one row for each meter, interval start and length; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.usage_day
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    commodity String COMMENT 'Electric or Gas',
    local_day Date COMMENT 'local calendar day',
    seconds UInt32 COMMENT 'interval length of the finest series that the meter has on that day',
    unit String COMMENT 'kWh, ccf or cm',
    quantity Decimal(38, 6) COMMENT 'sum over the intervals of that series',
    intervals_expected UInt32 COMMENT 'intervals of that length in the local day: 23, 24 or 25 hours of them, 1 for daily reads',
    intervals_present UInt32 COMMENT 'intervals that are there',
    published_at DateTime64(3, 'UTC') COMMENT 'when the latest of them became visible'
)
AS SELECT
    meter_id, commodity, local_day, finest.1 AS seconds, finest.2 AS unit, finest.3 AS quantity,
    if(finest.1 >= 86400, 1, intDiv(dateDiff('second',
        toDateTime(local_day, '{timeZone}'), toDateTime(local_day + 1, '{timeZone}')), finest.1)) AS intervals_expected,
    finest.4 AS intervals_present, finest.5 AS published_at
FROM
(
    SELECT meter_id, commodity, local_day, argMin((seconds, unit, quantity, present, published_at), seconds) AS finest
    FROM
    (
        SELECT meter_id, commodity, local_day, seconds, any(unit) AS unit, sum(quantity) AS quantity,
            toUInt32(count()) AS present, max(published_at) AS published_at
        FROM {database}.usage
        GROUP BY meter_id, commodity, local_day, seconds
    )
    GROUP BY meter_id, commodity, local_day
)
COMMENT 'The finest series of each meter and day with its completeness; a gap stays a gap';
