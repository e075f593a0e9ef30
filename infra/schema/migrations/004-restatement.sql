CREATE TABLE IF NOT EXISTS {database}.restatement
(
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
    new_version UInt64 COMMENT 'version of the read that replaced it'
)
ENGINE = ReplacingMergeTree
ORDER BY (local_day, meter_id, starts_at, seconds, new_version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind usage_restatement and usage_as_of: every read that was replaced';

CREATE OR REPLACE VIEW {database}.usage_restatement
(
    meter_id String COMMENT 'permanent and unique meter identifier',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    seconds UInt32 COMMENT 'length of the interval in seconds',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    old_quantity Decimal(18, 6) COMMENT 'quantity before, as sent',
    new_quantity Decimal(18, 6) COMMENT 'quantity after, as sent',
    old_file_id String COMMENT 'sha256 of the file that the old read came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new read became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same, by which increments are pulled'
)
AS SELECT
    r.meter_id AS meter_id, r.starts_at AS starts_at, r.seconds AS seconds, r.local_day AS local_day,
    r.old_quantity AS old_quantity, r.new_quantity AS new_quantity,
    o.file_id AS old_file_id, n.file_id AS new_file_id,
    n.published_at AS restated_at, n.published_at AS published_at
FROM {database}.restatement AS r FINAL
INNER JOIN (SELECT arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS n
    ON n.arrival = bitShiftRight(r.new_version, 32)
LEFT JOIN (SELECT arrival, file_id FROM {database}.file_state FINAL) AS o
    ON o.arrival = bitShiftRight(r.old_version, 32)
WHERE r.old_quantity != r.new_quantity
COMMENT 'Reads that a later file replaced by another value';

CREATE OR REPLACE VIEW {database}.usage_as_of AS
WITH published AS
(
    SELECT toUInt64(arrival) AS arrival FROM {database}.file_state FINAL
    WHERE status = 'published' AND published_at <= {known_at:DateTime64(3, 'UTC')}
)
SELECT
    meter_id, toString(commodity) AS commodity, starts_at, seconds, local_day, local_hour,
    if(commodity = 'Electric' AND '{electricUnit}' = 'Wh', quantity / 1000, quantity) AS quantity,
    if(commodity = 'Gas', '{gasUnit}', 'kWh') AS unit,
    account_number, external_site_id, version
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
)
ORDER BY version DESC
LIMIT 1 BY meter_id, starts_at, seconds
COMMENT 'Reads as they were known at an instant: SELECT * FROM usage_as_of(known_at = ''2026-01-31 12:00:00'')';
