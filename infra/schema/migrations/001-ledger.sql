CREATE TABLE IF NOT EXISTS {database}.arrival
(
    arrival UInt32 COMMENT 'number of the arrival: 1, 2, 3 ... in the order in which files came in',
    claim String COMMENT 'who claimed the number: a random id of the claim',
    source LowCardinality(String) COMMENT 'source of the profile, or submit where a person named the file',
    name String COMMENT 'file name as the sender gave it',
    path String COMMENT 'where the source holds the file',
    bytes UInt64 COMMENT 'size in bytes when it was listed',
    modified_ms UInt64 COMMENT 'time of last change when it was listed, milliseconds since 1970',
    force Bool COMMENT 'loaded again on demand although the same file is published',
    arrived_at DateTime64(3, 'UTC') COMMENT 'when it was first seen'
)
ENGINE = MergeTree
ORDER BY arrival
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Every arrival of every file; a number is claimed once, by its insert token';

CREATE TABLE IF NOT EXISTS {database}.file_state
(
    arrival UInt32 COMMENT 'number of the arrival',
    rank UInt16 COMMENT 'how far the file has come; a lower rank never overrides a higher one',
    status LowCardinality(String) COMMENT 'received, waiting, publishing, published, quarantined, duplicate',
    source LowCardinality(String) COMMENT 'source of the profile, or submit',
    path String COMMENT 'where the source holds the file',
    file_name String COMMENT 'file name as the sender gave it',
    company_code LowCardinality(String) COMMENT 'company code of the file name',
    file_date Nullable(Date) COMMENT 'date of the file name',
    feed LowCardinality(String) COMMENT 'feed of the file name',
    file_id String COMMENT 'sha256 of the bytes as received, hexadecimal',
    bytes UInt64 COMMENT 'size as received, bytes',
    manifest String COMMENT 'JSON: chunks in the landing with their rows, lines and energy as counted in the bytes',
    fault String COMMENT 'code of what kept the file from being published, empty if nothing',
    reason String COMMENT 'the same in words',
    duplicate_of UInt32 COMMENT 'arrival of the published file that this one repeats, 0 if none',
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
    notes String COMMENT 'JSON: what else the receipt says (timestamp format, date order and its proof, warnings)',
    attaches String COMMENT 'staging table whose rows are published, once that is decided',
    restates Bool COMMENT 'whether reads of other files are replaced',
    received_at DateTime64(3, 'UTC') COMMENT 'when the file was taken in',
    published_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its rows became visible',
    settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when receipt and rejects were handed out and the file was put away',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when this state was written'
)
ENGINE = ReplacingMergeTree(rank)
ORDER BY arrival
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'The ledger: the state of each arrival, the furthest one counts';

CREATE TABLE IF NOT EXISTS {database}.chunk_receipt
(
    arrival UInt32 COMMENT 'number of the arrival',
    chunk UInt32 COMMENT 'number of the chunk in the file, from 0',
    rows_read UInt64 COMMENT 'rows judged',
    rows_accepted UInt64 COMMENT 'rows put into staging',
    rows_rejected UInt64 COMMENT 'rows put into reject',
    quantity_accepted Decimal(38, 6) COMMENT 'sum of the accepted quantities in staging',
    quantity_rejected Decimal(38, 6) COMMENT 'sum of the rejected quantities where readable',
    notes String COMMENT 'JSON: evidence on the timestamps of the chunk, rounded quantities',
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when the chunk was loaded'
)
ENGINE = ReplacingMergeTree(recorded_at)
ORDER BY (arrival, chunk)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What one load put where; written after its rows';

CREATE TABLE IF NOT EXISTS {database}.reject
(
    arrival UInt32 COMMENT 'number of the arrival',
    line UInt32 COMMENT 'physical line on which the row starts, the header being 1',
    column_name LowCardinality(String) COMMENT 'the first column that failed, empty where the whole row did',
    code LowCardinality(String) COMMENT 'what is wrong',
    detail String COMMENT 'the same in words',
    raw String COMMENT 'the row as it stood, cut to 1,000 bytes',
    quantity Decimal(18, 6) COMMENT 'its last column where that reads as a number, else 0'
)
ENGINE = ReplacingMergeTree
ORDER BY (arrival, line)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Rows that were rejected, of every arrival';
