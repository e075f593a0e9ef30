CREATE TABLE IF NOT EXISTS {database}.audit_log
(
    number UInt32 COMMENT 'number of the entry: 1, 2, 3 ... in the order in which they were written',
    at DateTime64(3, 'UTC') COMMENT 'when it was written, before the act was carried out',
    who String COMMENT 'the authenticated user; on the command line the user of the machine; loopback for whoever is on the machine; tieline for what the service does by the profile',
    via LowCardinality(String) COMMENT 'page, command, gateway or worker',
    act LowCardinality(String) COMMENT 'retry, accept, register, unlock, bind, erase or profile',
    subject String COMMENT 'what it was done to: the arrival of a file, the name of a file of customers, a client, the id of a bind action, the hash of a profile; of an erasure the instant by which its tombstones are found',
    detail String COMMENT 'the same in words',
    claim String COMMENT 'who wrote the entry: a random id',
    before String COMMENT 'hash of the entry before, empty for the first',
    hash String COMMENT 'sha256, hexadecimal, of before and of all columns ahead of it'
)
ENGINE = MergeTree
ORDER BY number
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Who did what; entries are only added, and each holds the hash of the one before';

ALTER TABLE {database}.arrival
    ADD COLUMN IF NOT EXISTS accept_rejects Bool COMMENT 'accepted by a person: its good rows are published however many are rejected' AFTER force,
    COMMENT COLUMN claim 'who claimed the number: a random id of the claim, or reprocess and the arrival that it takes up';
