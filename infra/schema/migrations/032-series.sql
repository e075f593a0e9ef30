ALTER TABLE {database}.usage_read
    ADD COLUMN IF NOT EXISTS series UInt64 MATERIALIZED bitOr(
        bitAnd(cityHash64(meter_id), 18446744069414584320),
        bitAnd(cityHash64(meter_id, account_number, external_site_id, seconds), 4294967295))
    COMMENT 'number of the meter, account, premise and interval length together, of which the upper half tells the meter: reads with one number belong to one customer and can be added up';

CREATE OR REPLACE VIEW {database}.usage_current
AS SELECT *, series, toUInt32(bitShiftRight(version, 32)) AS arrival
FROM {database}.usage_read FINAL
PREWHERE bitShiftRight(version, 32) NOT IN
    (SELECT toUInt64(arrival) FROM {database}.file_state FINAL WHERE status = 'publishing')
COMMENT 'Published reads without what only a join can tell: the rows of a file that is being published are left out ahead of FINAL';
