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
    reason String COMMENT 'the same in words',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row last changed: seen, received, published, settled'
)
AS SELECT
    a.arrival AS arrival, a.name AS file_name, a.source AS source, a.bytes AS bytes, a.arrived_at AS arrived_at,
    s.file_id AS file_id, if(p.status = '', 'arrived', p.status) AS status, s.duplicate_of AS duplicate_of,
    p.waits_for AS waits_for, s.fault AS fault, s.reason AS reason,
    greatest(a.arrived_at, s.received_at, ifNull(s.published_at, a.arrived_at), ifNull(s.settled_at, a.arrived_at)) AS published_at
FROM {database}.arrival AS a
LEFT JOIN (SELECT arrival, file_id, duplicate_of, fault, reason, received_at, published_at, settled_at FROM {database}.file_state FINAL) AS s ON s.arrival = a.arrival
LEFT JOIN {database}.file_progress AS p ON p.arrival = a.arrival
COMMENT 'Every arrival of every file, duplicates too, and those that another state of the file has replaced before they were published';
