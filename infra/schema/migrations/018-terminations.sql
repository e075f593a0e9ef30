CREATE TABLE IF NOT EXISTS {database}.termination_row
(
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise, empty where all premises of the account are meant',
    meter_id String COMMENT 'meter, empty where all meters of the account are meant',
    termination_date Date COMMENT 'last day of the account',
    reason String COMMENT 'why, as sent, empty where not given',
    version UInt64 COMMENT 'arrival * 2^32 + line: the order of arrival down to the row' CODEC(DoubleDelta, LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (account_number, meter_id, version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Storage behind termination: the rows of every file, those that were replaced too';

CREATE OR REPLACE VIEW {database}.termination
(
    account_number String COMMENT 'contract account',
    external_site_id String COMMENT 'premise, empty where all premises of the account are meant',
    meter_id String COMMENT 'meter, empty where all meters of the account are meant',
    termination_date Date COMMENT 'last day of the account',
    reason String COMMENT 'why, as sent, empty where not given',
    file_id String COMMENT 'sha256 of the file that the row came in',
    version UInt64 COMMENT 'arrival * 2^32 + line of the row in its file: the order of arrival down to the row',
    published_at DateTime64(3, 'UTC') COMMENT 'when the row became visible'
)
AS SELECT
    account_number, latest.1 AS external_site_id, meter_id, latest.2 AS termination_date, latest.3 AS reason,
    latest.4 AS file_id, last_version AS version, latest.5 AS published_at
FROM
(
    SELECT account_number, meter_id, max(version) AS last_version,
        argMax((external_site_id, termination_date, reason, f.file_id, f.published_at), version) AS latest
    FROM {database}.termination_row AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    GROUP BY account_number, meter_id
)
COMMENT 'Accounts that were closed: one current row for each account and meter; the latest arrival counts';

CREATE OR REPLACE VIEW {database}.termination_restatement
(
    account_number String COMMENT 'contract account',
    meter_id String COMMENT 'meter, empty where all meters of the account are meant',
    old Map(String, String) COMMENT 'the other columns as they were',
    new Map(String, String) COMMENT 'the other columns as a later row has them',
    old_file_id String COMMENT 'sha256 of the file that the old row came in',
    new_file_id String COMMENT 'sha256 of the file that replaced it',
    restated_at DateTime64(3, 'UTC') COMMENT 'when the new row became visible',
    published_at DateTime64(3, 'UTC') COMMENT 'the same, by which increments are pulled'
)
AS SELECT account_number, meter_id, old, new, old_file_id, new_file_id, restated_at, restated_at AS published_at
FROM
(
    SELECT account_number, meter_id, version, map('external_site_id', toString(external_site_id), 'termination_date', toString(termination_date), 'reason', toString(reason)) AS new, f.file_id AS new_file_id, f.published_at AS restated_at,
        lagInFrame(new) OVER earlier AS old, lagInFrame(f.file_id) OVER earlier AS old_file_id, row_number() OVER earlier AS number
    FROM (SELECT * FROM {database}.termination_row LIMIT 1 BY account_number, meter_id, version) AS r
    INNER JOIN (SELECT toUInt64(arrival) AS arrival, file_id, assumeNotNull(published_at) AS published_at FROM {database}.file_state FINAL WHERE status = 'published') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
    WINDOW earlier AS (PARTITION BY account_number, meter_id ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE number > 1 AND new != old
COMMENT 'Rows of termination that a later one of the same key replaced by other values';
