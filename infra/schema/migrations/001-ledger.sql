CREATE TABLE IF NOT EXISTS {database}.arrival{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival: 1, 2, 3 ... in the order in which files came in',
    claim String COMMENT 'id of the claim: random, or reprocess and the arrival that is reprocessed',
    source LowCardinality(String) COMMENT 'source of the profile, or submit if a person submitted the file',
    name String COMMENT 'file name as the sender gave it',
    path String COMMENT 'where the source holds the file',
    machine String COMMENT 'id of the data folder of the machine on which a person named the file; empty for all other files',
    bytes UInt64 COMMENT 'size in bytes when it was listed',
    modified_ms UInt64 COMMENT 'time of last change when it was listed, milliseconds since 1970',
    force Bool COMMENT 'loaded again on request although the same file is published',
    accept_rejects Bool COMMENT 'accepted by a person: its valid rows are published however many rows are rejected',
    repairs UInt32 COMMENT 'arrival whose missing rows it brings back, 0 for all other files',
    whole_by LowCardinality(String) COMMENT 'what shows that all of the file came: done-file, digest (of an upload), object (S3), answer (of the MDM); empty if nothing does',
    arrived_at DateTime64(3, 'UTC') COMMENT 'when it was first seen'
) ENGINE = {engine:MergeTree}
ORDER BY arrival
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Every arrival of every file; a number is claimed once, by its insert token';

CREATE TABLE IF NOT EXISTS {database}.file_state{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival',
    rank UInt16 COMMENT 'progress of the file; a lower rank never overrides a higher one',
    status LowCardinality(String) COMMENT 'received, waiting, publishing, published, quarantined, duplicate; replaced if the source listed a changed file before this one was published',
    source LowCardinality(String) COMMENT 'source of the profile, or submit',
    path String COMMENT 'where the source holds the file',
    file_name String COMMENT 'file name as the sender gave it',
    company_code LowCardinality(String) COMMENT 'company code of the file name',
    file_date Nullable(Date) COMMENT 'date of the file name',
    feed LowCardinality(String) COMMENT 'feed of the file name',
    file_id String COMMENT 'sha256 of the bytes as received, hexadecimal',
    bytes UInt64 COMMENT 'size as received, bytes',
    manifest String COMMENT 'JSON: chunks in the landing with rows, lines and control total, as counted in the bytes on arrival',
    fault String COMMENT 'code of the fault that prevented publication, empty if none',
    reason String COMMENT 'the same as a sentence',
    duplicate_of UInt32 COMMENT 'arrival of the published file that this one repeats, 0 if none',
    rows_read UInt64 COMMENT 'rows counted in the bytes on arrival; of a quarantined file the rejected rows only, the others are in rows_held',
    rows_accepted UInt64 COMMENT 'rows published',
    rows_duplicate UInt64 COMMENT 'rows equal to a read or record that is already stored',
    rows_superseded UInt64 COMMENT 'rows replaced by a later row of the file or of a later file',
    rows_rejected UInt64 COMMENT 'rows that were rejected',
    rows_unregistered UInt64 COMMENT 'rows of meters that the profile does not store because they are not registered',
    rows_held UInt64 COMMENT 'rows of a quarantined file that were not rejected; none of them is published',
    quantity_read Decimal(38, 6) COMMENT 'sum of the quantities of rows_read, as sent',
    quantity_accepted Decimal(38, 6) COMMENT 'sum of the quantities of rows_accepted, as sent',
    quantity_duplicate Decimal(38, 6) COMMENT 'sum of the quantities of rows_duplicate, as sent',
    quantity_superseded Decimal(38, 6) COMMENT 'sum of the quantities of rows_superseded, as sent',
    quantity_rejected Decimal(38, 6) COMMENT 'sum of the quantities of rows_rejected as sent, where they can be read',
    quantity_unregistered Decimal(38, 6) COMMENT 'sum of the quantities of rows_unregistered, as sent',
    quantity_held Decimal(38, 6) COMMENT 'sum of the quantities of rows_held, as sent',
    restated_rows UInt64 COMMENT 'accepted rows that replaced another value',
    restated_net_quantity Decimal(38, 6) COMMENT 'sum of new minus old quantity of the restated rows, as sent',
    meters UInt64 COMMENT 'different meters among the usable rows',
    first_interval_start Nullable(DateTime('UTC')) COMMENT 'start of the earliest usable interval',
    last_interval_end Nullable(DateTime('UTC')) COMMENT 'end of the latest usable interval',
    notes String COMMENT 'JSON: what else the receipt says (timestamp format, date order and its proof, rounded rows, warnings)',
    group_id UInt32 COMMENT 'group of small files that it is loaded with, part of the names of their staging tables; 0 if it is loaded by itself',
    decision UInt64 COMMENT 'id of the decision that made the verdict, part of the names of the staging tables that it built; 0 before',
    attaches String COMMENT 'staging table whose rows are published, set when the file is accepted',
    restates Bool COMMENT 'whether reads of other files are replaced',
    received_at DateTime64(3, 'UTC') COMMENT 'when the file was received',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its rows became visible',
    settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when receipt and rejects file were delivered and the file was archived',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
) ENGINE = {engine:ReplacingMergeTree(rank)}
ORDER BY arrival
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'The ledger: the state of each arrival; the row with the highest rank counts, of verdicts the first, by its insert token';

CREATE TABLE IF NOT EXISTS {database}.chunk_receipt{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival',
    chunk UInt32 COMMENT 'number of the chunk in the file, from 0',
    rows_read UInt64 COMMENT 'rows validated',
    rows_accepted UInt64 COMMENT 'rows inserted into staging',
    rows_rejected UInt64 COMMENT 'rows inserted into reject',
    quantity_rejected Decimal(38, 6) COMMENT 'sum of the rejected quantities, where they can be read',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when the chunk was loaded'
) ENGINE = {engine:ReplacingMergeTree(recorded_at)}
ORDER BY (arrival, chunk)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Receipt of one chunk load: where its rows went; written after the rows';

CREATE TABLE IF NOT EXISTS {database}.reject{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival',
    line UInt32 COMMENT 'physical line on which the row starts, the header being 1',
    column_name LowCardinality(String) COMMENT 'the first invalid column, empty if the whole row is invalid',
    code LowCardinality(String) COMMENT 'code of the error',
    detail String COMMENT 'the same as a sentence',
    raw String COMMENT 'the row as received, cut to 1,000 bytes',
    quantity Decimal(18, 6) COMMENT 'its last column if that is a number, else 0',
    sent_line UInt32 DEFAULT 0 COMMENT 'line of the record of the sender that the row was made of; 0 for a row as it was sent',
    sent String DEFAULT '' COMMENT 'that record as received, cut to 1,000 characters'
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (arrival, line)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Rows that were rejected, of every arrival';

CREATE TABLE IF NOT EXISTS {database}.publication{onCluster} (
    published_seq UInt64 COMMENT 'number of the publication: 1, 2, 3 ... without a gap, in the order of publication',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible; never earlier than the publication before, even if a clock is set back',
    kind LowCardinality(String) COMMENT 'file, bills, comparison, change (of ownership, or an erasure) or claim (of held reads)',
    arrival UInt32 COMMENT 'number of the arrival of the file, else 0',
    file_id String COMMENT 'sha256 of the bytes of the file as received, else empty',
    run String COMMENT 'run of bills or comparisons, else empty',
    change UInt64 COMMENT 'change of usage_change_row; of a file its arrival; 0 if none',
    rekeys Bool COMMENT 'whether the file stored earlier reads under a length that it proved',
    claim String COMMENT 'id of the claim, random'
) ENGINE = {engine:MergeTree}
ORDER BY published_seq
SETTINGS {deduplicationWindow} = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What was published, in order. The row makes its subject visible and is never deleted; a number is claimed once, by its insert token';

CREATE TABLE IF NOT EXISTS {database}.published_rows{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival whose stored rows change',
    kind LowCardinality(String) COMMENT 'published by its file, replaced by a later file, claimed by a registration, outdone by claimed reads, erased, or repaired',
    cause UInt64 COMMENT 'what changed them: an arrival, or a change',
    target LowCardinality(String) COMMENT 'table that stores the rows',
    rows Int64 COMMENT 'rows added, negative if they were removed',
    quantity Decimal(38, 6) COMMENT 'the same of the control total',
    rank UInt64 COMMENT 'of two entries with the same arrival, kind and cause the higher rank counts'
) ENGINE = {engine:ReplacingMergeTree(rank)}
ORDER BY (arrival, kind, cause)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'How many rows of each arrival are stored: the sum of its entries. tieline verify compares it with the tables';

CREATE TABLE IF NOT EXISTS {database}.usage_change_row{onCluster} (
    meter_id String COMMENT 'permanent and unique meter identifier; empty in a row that only announces a change',
    local_day Date COMMENT 'first local calendar day whose reads change',
    last_local_day Date COMMENT 'last local calendar day whose reads change, inclusive',
    client_ids_before Array(String) COMMENT 'clients that own the reads before; an erasure names none',
    client_ids_after Array(String) COMMENT 'clients that own the reads after it',
    cause LowCardinality(String) COMMENT 'ownership, read, cost or erasure',
    change UInt64 COMMENT 'id of the change: the arrival if a file causes it, else a random number of 2^32 or more',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when it was announced'
) ENGINE = {engine:MergeTree}
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (meter_id, local_day)
TTL toDateTime(recorded_at) + INTERVAL 400 DAY
SETTINGS {deduplicationWindow} = 10000, fsync_after_insert = 1, fsync_part_directory = 1, remove_empty_parts = {removeEmptyParts}
COMMENT 'Storage of usage_change: written before the change is made, visible when the change is published';

CREATE OR REPLACE VIEW {database}.file_progress{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival',
    status String COMMENT 'status of file_state, except: loading while chunks are loaded; waiting if all are loaded and another file must be published first',
    waits_for UInt32 COMMENT 'arrival of the file that must be published first, 0 if none'
) AS WITH
    (SELECT min(arrival) FROM {database}.file_state FINAL WHERE status = 'publishing' AND arrival NOT IN (SELECT arrival FROM {database}.publication)) AS first_publishing,
    (arrival, JSONLength(manifest, 'chunks')) IN (SELECT arrival, uniqExact(chunk) FROM {database}.chunk_receipt GROUP BY arrival) AS is_loaded
SELECT
    f.arrival AS arrival,
    multiIf(f.status = 'publishing' AND f.arrival IN (SELECT arrival FROM {database}.publication), 'published', f.status != 'received', f.status, first_publishing != 0 AND is_loaded, 'waiting',
        f.arrival IN (SELECT arrival FROM {database}.chunk_receipt), 'loading', f.status) AS status,
    if(f.status = 'received', first_publishing, 0) AS waits_for
FROM {database}.file_state AS f FINAL
COMMENT 'Progress of each arrival that was received';

CREATE OR REPLACE VIEW {database}.file_load{onCluster} (
    file_id String COMMENT 'sha256 of the bytes as received, hexadecimal',
    arrival UInt32 COMMENT 'number of the arrival, in the order in which files came in',
    file_name String COMMENT 'file name as the sender gave it',
    source LowCardinality(String) COMMENT 'source of the profile, or submit if a person submitted the file',
    company_code LowCardinality(String) COMMENT 'company code of the file name',
    file_date Nullable(Date) COMMENT 'date of the file name',
    feed LowCardinality(String) COMMENT 'feed of the file name',
    status String COMMENT 'received, loading, waiting (for the remaining bytes, or for the file in waits_for), publishing, published or quarantined',
    waits_for UInt32 COMMENT 'arrival of the file that must be published first, 0 if none; see the fault and reason of that file',
    fault String COMMENT 'code of the fault that prevents or prevented publication, empty if none',
    reason String COMMENT 'the same as a sentence',
    bytes UInt64 COMMENT 'size as received, bytes',
    rows_read UInt64 COMMENT 'rows counted in the bytes on arrival; of a quarantined file the rejected rows only, the others are in rows_held',
    rows_accepted UInt64 COMMENT 'rows published; 0 until publication',
    rows_duplicate UInt64 COMMENT 'rows equal to a read or record that is already stored',
    rows_superseded UInt64 COMMENT 'rows replaced by a later row of the file or of a later file',
    rows_rejected UInt64 COMMENT 'rows that were rejected',
    rows_unregistered UInt64 COMMENT 'rows of meters that the profile does not store because they are not registered',
    rows_held UInt64 COMMENT 'rows of a quarantined file that were not rejected; none of them is published',
    quantity_read Decimal(38, 6) COMMENT 'sum of the quantities of rows_read, as sent',
    quantity_accepted Decimal(38, 6) COMMENT 'sum of the quantities of rows_accepted, as sent',
    quantity_duplicate Decimal(38, 6) COMMENT 'sum of the quantities of rows_duplicate, as sent',
    quantity_superseded Decimal(38, 6) COMMENT 'sum of the quantities of rows_superseded, as sent',
    quantity_rejected Decimal(38, 6) COMMENT 'sum of the quantities of rows_rejected as sent, where they can be read',
    quantity_unregistered Decimal(38, 6) COMMENT 'sum of the quantities of rows_unregistered, as sent',
    quantity_held Decimal(38, 6) COMMENT 'sum of the quantities of rows_held, as sent',
    restated_rows UInt64 COMMENT 'accepted rows that replaced another value',
    restated_net_quantity Decimal(38, 6) COMMENT 'sum of new minus old quantity of the restated rows, as sent',
    meters UInt64 COMMENT 'different meters among the usable rows',
    first_interval_start Nullable(DateTime('UTC')) COMMENT 'start of the earliest usable interval',
    last_interval_end Nullable(DateTime('UTC')) COMMENT 'end of the latest usable interval',
    notes String COMMENT 'JSON: timestamp format, date order and its proof, rounded rows, warnings',
    received_at DateTime64(3, 'UTC') COMMENT 'when the file was received',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its rows became visible',
    settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when receipt and rejects file were delivered and the file was archived',
    published_seq Nullable(UInt64) COMMENT 'number of its publication; NULL until then'
) AS SELECT
    file_id, f.arrival AS arrival, file_name, source, company_code, file_date, feed,
    p.status AS status, p.waits_for AS waits_for, fault, reason, bytes,
    rows_read, if(p.status = 'published', f.rows_accepted, 0) AS rows_accepted, rows_duplicate, rows_superseded, rows_rejected,
    rows_unregistered, rows_held,
    quantity_read, if(p.status = 'published', f.quantity_accepted, 0) AS quantity_accepted, quantity_duplicate, quantity_superseded,
    quantity_rejected, quantity_unregistered, quantity_held,
    restated_rows, restated_net_quantity, meters, first_interval_start, last_interval_end,
    notes, received_at, if(n.published_seq = 0, f.published_at, n.published_at) AS published_at, settled_at,
    nullIf(n.published_seq, 0) AS published_seq
FROM {database}.file_state AS f FINAL
INNER JOIN {database}.file_progress AS p ON p.arrival = f.arrival
ANY LEFT JOIN (SELECT arrival, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS n ON n.arrival = f.arrival
WHERE f.status NOT IN ('duplicate', 'replaced')
SETTINGS join_use_nulls = 0
COMMENT 'One current row for each file: its status and where its rows went. Duplicates are left out, and so are files that changed in the source before publication (replaced)';

CREATE OR REPLACE VIEW {database}.file_arrival{onCluster} (
    arrival UInt32 COMMENT 'number of the arrival, in the order in which files came in',
    file_name String COMMENT 'file name as the sender gave it',
    source LowCardinality(String) COMMENT 'source of the profile, or submit if a person submitted the file',
    bytes UInt64 COMMENT 'size in bytes when it was listed',
    arrived_at DateTime64(3, 'UTC') COMMENT 'when it was first seen',
    file_id String COMMENT 'sha256 of the bytes as received, empty until they were read',
    status String COMMENT 'status of the arrival; duplicate if the same file is already published; waiting for the remaining bytes or for the file in waits_for',
    duplicate_of UInt32 COMMENT 'arrival of the published file that this one repeats, 0 if none',
    waits_for UInt32 COMMENT 'arrival of the file that must be published first, 0 if none',
    fault String COMMENT 'code of the fault that prevents or prevented publication, empty if none',
    reason String COMMENT 'the same as a sentence',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row last changed: seen, received, published, settled',
    published_seq Nullable(UInt64) COMMENT 'number of the publication of its rows; NULL if they are not published'
) AS SELECT
    a.arrival AS arrival, a.name AS file_name, a.source AS source, a.bytes AS bytes, a.arrived_at AS arrived_at,
    s.file_id AS file_id, if(p.status = '', 'arrived', p.status) AS status, s.duplicate_of AS duplicate_of,
    p.waits_for AS waits_for, s.fault AS fault, s.reason AS reason,
    greatest(a.arrived_at, s.received_at, ifNull(s.published_at, a.arrived_at), ifNull(s.settled_at, a.arrived_at)) AS published_at,
    nullIf(n.published_seq, 0) AS published_seq
FROM {database}.arrival AS a
LEFT JOIN (SELECT arrival, file_id, duplicate_of, fault, reason, received_at, published_at, settled_at FROM {database}.file_state FINAL) AS s ON s.arrival = a.arrival
LEFT JOIN {database}.file_progress AS p ON p.arrival = a.arrival
ANY LEFT JOIN (SELECT arrival, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS n ON n.arrival = a.arrival
SETTINGS join_use_nulls = 0
COMMENT 'Every arrival of every file, including duplicates and files that changed in the source before publication (replaced)';

CREATE OR REPLACE VIEW {database}.rejected_row{onCluster} (
    file_id String COMMENT 'sha256 of the bytes of the file as received',
    file_name String COMMENT 'file name as the sender gave it',
    arrival UInt32 COMMENT 'number of the arrival',
    line UInt32 COMMENT 'physical line on which the row starts, the header being 1',
    column_name LowCardinality(String) COMMENT 'the first invalid column, empty if the whole row is invalid',
    code LowCardinality(String) COMMENT 'code of the error',
    detail String COMMENT 'the same as a sentence',
    raw String COMMENT 'the row as received, cut to 1,000 bytes',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the other rows of its file became visible; NULL if the file is quarantined',
    published_seq Nullable(UInt64) COMMENT 'number of the publication of its file; NULL if the file is quarantined'
) AS SELECT
    f.file_id AS file_id, f.file_name AS file_name, r.arrival AS arrival,
    if(r.sent_line = 0, r.line, r.sent_line) AS line,
    r.column_name AS column_name, r.code AS code, r.detail AS detail, if(r.sent_line = 0, r.raw, r.sent) AS raw, if(n.published_seq = 0, f.published_at, n.published_at) AS published_at,
    nullIf(n.published_seq, 0) AS published_seq
FROM {database}.reject AS r FINAL
INNER JOIN
(
    SELECT arrival, file_id, file_name, published_at FROM {database}.file_state FINAL
    WHERE status IN ('published', 'quarantined') OR arrival IN (SELECT arrival FROM {database}.publication)
) AS f ON f.arrival = r.arrival
ANY LEFT JOIN (SELECT arrival, published_at, published_seq FROM {database}.publication WHERE arrival != 0) AS n ON n.arrival = r.arrival
SETTINGS join_use_nulls = 0
COMMENT 'Rejected rows with line, column and reason';
