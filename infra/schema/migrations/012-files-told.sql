ALTER TABLE {database}.file_state
    ADD COLUMN IF NOT EXISTS rows_held UInt64 COMMENT 'rows of a quarantined file that were not rejected; none of them is published' AFTER rows_unregistered,
    ADD COLUMN IF NOT EXISTS quantity_held Decimal(38, 6) COMMENT 'sum of the quantities of rows_held, as sent' AFTER quantity_unregistered,
    COMMENT COLUMN rows_read 'rows counted in the bytes on arrival; once a file is quarantined the rejected ones, the others are held',
    COMMENT COLUMN quantity_read 'sum of the quantities of rows_read, as sent',
    COMMENT COLUMN notes 'JSON: what else the receipt says (timestamp format, date order and its proof, rounded rows, warnings)';

ALTER TABLE {database}.chunk_receipt DROP COLUMN IF EXISTS notes;

CREATE OR REPLACE VIEW {database}.file_progress
(
    arrival UInt32 COMMENT 'number of the arrival',
    status String COMMENT 'that of file_state, and besides: loading where chunks are loaded, waiting where all are and another file has to be published first',
    waits_for UInt32 COMMENT 'arrival of the file that has to be published first, 0 if none'
)
AS WITH
    (SELECT min(arrival) FROM {database}.file_state FINAL WHERE status = 'publishing') AS first_publishing,
    (arrival, JSONLength(manifest, 'chunks')) IN (SELECT arrival, uniqExact(chunk) FROM {database}.chunk_receipt GROUP BY arrival) AS is_loaded
SELECT
    f.arrival AS arrival,
    multiIf(f.status != 'received', f.status, first_publishing != 0 AND is_loaded, 'waiting',
        f.arrival IN (SELECT arrival FROM {database}.chunk_receipt), 'loading', f.status) AS status,
    if(f.status = 'received', first_publishing, 0) AS waits_for
FROM {database}.file_state AS f FINAL
COMMENT 'How far each arrival has come that was taken in';

CREATE OR REPLACE VIEW {database}.file_load
(
    file_id String COMMENT 'sha256 of the bytes as received, hexadecimal',
    arrival UInt32 COMMENT 'number of the arrival, in the order in which files came in',
    file_name String COMMENT 'file name as the sender gave it',
    source LowCardinality(String) COMMENT 'source of the profile, or submit where a person named the file',
    company_code LowCardinality(String) COMMENT 'company code of the file name',
    file_date Nullable(Date) COMMENT 'date of the file name',
    feed LowCardinality(String) COMMENT 'feed of the file name',
    status String COMMENT 'received, loading, waiting (for its rest, or for the file in waits_for), publishing, published or quarantined',
    waits_for UInt32 COMMENT 'arrival of the file that has to be published first, 0 if none; its fault and reason say what it lacks',
    fault String COMMENT 'code of what kept the file from being published, or keeps it from it, empty if nothing',
    reason String COMMENT 'the same in words',
    bytes UInt64 COMMENT 'size as received, bytes',
    rows_read UInt64 COMMENT 'rows counted in the bytes on arrival; once a file is quarantined the rejected ones, the others are held',
    rows_accepted UInt64 COMMENT 'rows published; 0 until they are',
    rows_duplicate UInt64 COMMENT 'rows equal to one that stands already',
    rows_superseded UInt64 COMMENT 'rows replaced by a later row of the file or of a later file',
    rows_rejected UInt64 COMMENT 'rows that are not usable',
    rows_unregistered UInt64 COMMENT 'rows of meters that the profile does not store',
    rows_held UInt64 COMMENT 'rows of a quarantined file that were not rejected; none of them is published',
    quantity_read Decimal(38, 6) COMMENT 'sum of the quantities of rows_read, as sent',
    quantity_accepted Decimal(38, 6) COMMENT 'sum of the quantities of rows_accepted, as sent',
    quantity_duplicate Decimal(38, 6) COMMENT 'sum of the quantities of rows_duplicate, as sent',
    quantity_superseded Decimal(38, 6) COMMENT 'sum of the quantities of rows_superseded, as sent',
    quantity_rejected Decimal(38, 6) COMMENT 'sum of the quantities of rows_rejected where readable',
    quantity_unregistered Decimal(38, 6) COMMENT 'sum of the quantities of rows_unregistered, as sent',
    quantity_held Decimal(38, 6) COMMENT 'sum of the quantities of rows_held, as sent',
    restated_rows UInt64 COMMENT 'accepted rows that replaced another value',
    restated_net_quantity Decimal(38, 6) COMMENT 'sum of new minus old quantity of the restated rows',
    meters UInt64 COMMENT 'different meters among the usable rows',
    first_interval_start Nullable(DateTime('UTC')) COMMENT 'start of the earliest usable interval',
    last_interval_end Nullable(DateTime('UTC')) COMMENT 'end of the latest usable interval',
    notes String COMMENT 'JSON: timestamp format, date order and its proof, rounded rows, warnings',
    received_at DateTime64(3, 'UTC') COMMENT 'when the file was taken in',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its rows became visible',
    settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when receipt and rejects were handed out and the file was put away'
)
AS SELECT
    file_id, arrival, file_name, source, company_code, file_date, feed,
    p.status AS status, p.waits_for AS waits_for, fault, reason, bytes,
    rows_read, if(f.status = 'published', f.rows_accepted, 0) AS rows_accepted, rows_duplicate, rows_superseded, rows_rejected,
    rows_unregistered, rows_held,
    quantity_read, if(f.status = 'published', f.quantity_accepted, 0) AS quantity_accepted, quantity_duplicate, quantity_superseded,
    quantity_rejected, quantity_unregistered, quantity_held,
    restated_rows, restated_net_quantity, meters, first_interval_start, last_interval_end,
    notes, received_at, published_at, settled_at
FROM {database}.file_state AS f FINAL
INNER JOIN {database}.file_progress AS p ON p.arrival = f.arrival
WHERE f.status NOT IN ('duplicate', 'replaced')
COMMENT 'One current row for each file: how far it has come and where its rows went; without duplicates, and without those whose source showed another state of the file before it was published (replaced)';

CREATE OR REPLACE VIEW {database}.file_arrival
(
    arrival UInt32 COMMENT 'number of the arrival, in the order in which files came in',
    file_name String COMMENT 'file name as the sender gave it',
    source LowCardinality(String) COMMENT 'source of the profile, or submit where a person named the file',
    bytes UInt64 COMMENT 'size when it was listed, bytes',
    arrived_at DateTime64(3, 'UTC') COMMENT 'when it was first seen',
    file_id String COMMENT 'sha256 of the bytes as received, empty until they were read',
    status String COMMENT 'state of the arrival; duplicate where the same file is published already, waiting where it waits for its rest or for the file in waits_for',
    duplicate_of UInt32 COMMENT 'arrival of the published file that this one repeats, 0 if none',
    waits_for UInt32 COMMENT 'arrival of the file that has to be published first, 0 if none',
    fault String COMMENT 'code of what kept the file from being published, or keeps it from it, empty if nothing',
    reason String COMMENT 'the same in words'
)
AS SELECT
    a.arrival AS arrival, a.name AS file_name, a.source AS source, a.bytes AS bytes, a.arrived_at AS arrived_at,
    s.file_id AS file_id, if(p.status = '', 'arrived', p.status) AS status, s.duplicate_of AS duplicate_of,
    p.waits_for AS waits_for, s.fault AS fault, s.reason AS reason
FROM {database}.arrival AS a
LEFT JOIN (SELECT arrival, file_id, duplicate_of, fault, reason FROM {database}.file_state FINAL) AS s ON s.arrival = a.arrival
LEFT JOIN {database}.file_progress AS p ON p.arrival = a.arrival
COMMENT 'Every arrival of every file, duplicates too, and those that another state of the file has replaced before they were published';

ALTER TABLE {database}.usage_as_of
    MODIFY COMMENT 'Reads as they were known at an instant: SELECT * FROM usage_as_of(known_at = ''2026-01-31 12:00:00''). Its columns are those of the view usage, where each has its comment; the engine keeps none for a view with a parameter';
