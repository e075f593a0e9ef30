ALTER TABLE {database}.registration_fact
    MODIFY COLUMN kind Enum8('seen' = 1, 'usage' = 2, 'bill' = 3, 'shared' = 4) COMMENT 'seen: a customer record; usage: first interval with the account; bill: date on which the meter became active for the account; shared: a client of the account and premise whose record does not list the meter',
    ADD INDEX IF NOT EXISTS site_index external_site_id TYPE bloom_filter GRANULARITY 4;

ALTER TABLE {database}.registration_fact MATERIALIZE INDEX site_index;

CREATE OR REPLACE VIEW {database}.registered_usage
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
    published_at DateTime64(3, 'UTC') COMMENT 'when the read became visible here: published, and its owner known',
    client_ids Array(String) COMMENT 'clients whose read it is; several where they share the account',
    billing_cycle_id String COMMENT 'billing cycle of the meter, as text',
    rate_code String COMMENT 'rate of the meter'
)
AS SELECT
    meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity, unit,
    account_number, external_site_id, file_id, version, greatest(published_at, held_at) AS published_at,
    client_ids, billing_cycle_id, rate_code
FROM {database}.usage
INNER JOIN
(
    SELECT meter_id AS held_meter, external_site_id AS held_site,
        if(account_number = '', '\0', account_number) AS held_account,
        ifNull(valid_from, toDateTime(0, 'UTC')) AS held_from,
        ifNull(valid_to, toDateTime(4294967295, 'UTC')) AS held_to,
        client_ids, toString(billing_cycle_id) AS billing_cycle_id, toString(rate_code) AS rate_code,
        published_at AS held_at
    FROM {database}.tenancy FINAL
) AS held ON held_meter = meter_id
WHERE NOT (external_site_id != held_site) AND (account_number = held_account OR (
    starts_at >= held_from AND starts_at < held_to
    AND account_number NOT IN (SELECT account_number FROM {database}.tenancy WHERE account_number != '')))
COMMENT 'Reads of registered customers, one row for each read. For one client name his meters too: WHERE meter_id IN (SELECT meter_id FROM registration WHERE client_id = ''1'') AND has(client_ids, ''1'')';
