CREATE OR REPLACE VIEW {database}.bill_day{onCluster} (
    run String COMMENT 'the run',
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients that own the bill',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    last_date Date COMMENT 'last day of the bill',
    status String COMMENT 'status of the bill',
    reason String COMMENT 'the same as a sentence',
    local_day Date COMMENT 'local calendar day, or the first one of the row',
    days UInt16 COMMENT 'days of the row',
    is_projected Bool COMMENT 'whether the row is the projected rest of an open period',
    starts_at DateTime('UTC') COMMENT 'start of the row',
    ends_at DateTime('UTC') COMMENT 'end of the row, exclusive',
    unit String COMMENT 'unit of the quantity',
    per_unit Int64 COMMENT 'read units for one unit: 1, or 1000',
    micros Int64 COMMENT 'usage, millionths of the unit',
    filled Array(Int64) COMMENT 'of each energy line: what has filled it before the row, millionths of the unit',
    line_quantities Array(Int64) COMMENT 'of each energy line: usage that it prices, millionths of the unit',
    line_costs Array(Int64) COMMENT 'of each line, then of rounding of the total: millionths of a dollar; empty if there is no bill',
    classes Array(UInt16) COMMENT 'price class of each quarter hour',
    line_classes Array(Array(UInt8)) COMMENT 'of each energy line: whether it prices a class',
    lowers Array(Int64) COMMENT 'lower limit of each energy line',
    uppers Array(Int64) COMMENT 'upper limit of each energy line',
    constants UInt64 COMMENT 'number of charges of a constant amount: the lines after those of energy',
    prices Array(Decimal(38, 9)) COMMENT 'price of each energy line',
    percents Array(Decimal(38, 9)) COMMENT 'percent of each percentage line',
    taxable Array(UInt8) COMMENT 'of each line: whether percentage charges apply to it',
    line_kinds Array(String) COMMENT 'of each of line_costs: its kind',
    line_components Array(String) COMMENT 'of each of line_costs: the component, empty for charges other than energy',
    line_names Array(String) COMMENT 'of each of line_costs: its name',
    line_tiers Array(UInt16) COMMENT 'of each of line_costs: the tier, 0 if none',
    published_at DateTime64(3, 'UTC') COMMENT 'when the bill became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible'
) AS SELECT
    run, account_number, external_site_id, meter_id, client_ids, billing_cycle_id, start_date, last_date, status, reason,
    toDate(day_list[at]) AS local_day, toUInt16(untils[at] - day_list[at] + 1) AS days, is_ahead AND at = length(day_list) AND notEmpty(used) AS is_projected,
    starts[at] AS starts_at, if(empty(used), ends, starts[at + 1]) AS ends_at, unit, per_unit,
    if(empty(used), 0, used[1][at + 1] - used[1][at]) AS micros,
    if(empty(used), [], arrayMap(line -> line[at], arrayPopFront(used))) AS filled,
    arrayMap(line -> line[at] - line[at - 1], energies) AS line_quantities,
    arrayMap(line -> line[at] - line[at - 1], costs) AS line_costs,
    classes_of[at] AS classes, line_classes, lowers, uppers, constants, prices, percents, taxable,
    if(empty(costs), [], arrayPushBack(kinds, 'Rounding')) AS line_kinds, if(empty(costs), [], arrayPushBack(components, '')) AS line_components,
    if(empty(costs), [], arrayPushBack(names, 'Rounding')) AS line_names, if(empty(costs), [], arrayPushBack(tiers, 0)) AS line_tiers,
    published_at, published_seq
FROM
(
    SELECT *, if(dollars IS NULL, [], arrayConcat(taxed_costs, percent_costs, minimum_costs,
        [arrayMap(at -> if(at >= closing, total_rest, 0), arrayEnumerate(untils))])) AS costs
    FROM
    (
        SELECT *, arrayMap((line, amount) -> arrayMap((cost, at) -> cost + if(at >= closing, amount, 0), line, arrayEnumerate(line)),
                percent_raw, arrayMap((line, amount) -> amount - line[-1], percent_raw, arrayResize(arraySlice(line_micros, length(prices) + constants + 1, length(percents)), length(percents)))) AS percent_costs,
            arrayMap(amount -> arrayMap(until -> intDiv(amount * (until - first_day + 1), last_day - first_day + 1), capped), arraySlice(line_micros, length(prices) + constants + length(percents) + 1)) AS minimum_costs,
            reinterpret(assumeNotNull(dollars), 'Int64') - arraySum(line_micros) AS total_rest
        FROM
        (
            SELECT *, arrayMap(percent -> arrayMap(cost -> toInt64(round(cost * percent * toDecimal64('0.01', 2))), taxed), percents) AS percent_raw
            FROM
            (
                SELECT *, arrayReduce('sumForEach', arrayPushFront(arrayFilter((line, is_taxed) -> is_taxed, taxed_costs, arraySlice(taxable, 1, length(taxed_costs))), arrayMap(until -> toInt64(0), untils))) AS taxed
                FROM
                (
                    SELECT *, arrayConcat(
                        arrayMap((line, rest) -> arrayMap((cost, at) -> cost + if(at >= closing, rest, 0), line, arrayEnumerate(line)),
                            energy_raw, arrayMap((line, amount) -> amount - line[-1], energy_raw, arraySlice(line_micros, 1, length(prices)))),
                        arrayMap((amount, from, to) -> arrayMap(until -> intDiv(amount * least(greatest(until - from + 1, 0), to - from + 1), to - from + 1), untils),
                            arrayResize(arraySlice(line_micros, length(prices) + 1, constants), constants), arraySlice(from_days, length(prices) + 1, constants), arraySlice(to_days, length(prices) + 1, constants))) AS taxed_costs
                    FROM
                    (
                        SELECT *, arrayMap((line, price) -> arrayMap(energy -> toInt64(round(energy * price)), line), energies, if(notEmpty(energies), prices, [])) AS energy_raw
                        FROM
                        (
                            SELECT *, arrayMap((line, low, high, start) -> arrayMap(fill -> least(greatest(fill, low), high) - start, arrayPopFront(line)),
                                    lines_used, low_limits, high_limits, arrayMap((line, low, high) -> least(greatest(line[1], low), high), lines_used, low_limits, high_limits)) AS energies,
                                arrayMap(until -> least(until, last_day), untils) AS capped,
                                arrayCount(day -> day <= last_day, day_list) AS closing
                            FROM
                            (
                                SELECT *, arrayPushBack(arrayMap(day -> day - 1, arrayPopFront(day_list)), greatest(last_day, day_list[-1])) AS untils,
                                    if(dollars IS NULL, [], arrayPopFront(used)) AS lines_used,
                                    if(dollars IS NULL, [], lowers) AS low_limits, if(dollars IS NULL, [], uppers) AS high_limits
                                FROM
                                (
                                    SELECT b.run AS run, b.account_number AS account_number, b.external_site_id AS external_site_id, b.meter_id AS meter_id,
                                        b.client_ids AS client_ids, r.billing_cycle_id AS billing_cycle_id, b.start_date AS start_date, b.last_date AS last_date,
                                        toInt32(b.start_date) AS first_day, toInt32(b.last_date) AS last_day,
                                        toString(b.status) AS status, b.reason AS reason, toString(b.unit) AS unit,
                                        if(b.read_unit = 'Wh' AND b.unit = 'kWh', 1000, 1) AS per_unit, b.used_by_day AS used,
                                        arrayMap(amount -> reinterpret(amount, 'Int64'), b.line_amounts) AS line_micros, if(empty(used), NULL, b.total) AS dollars,
                                        p.day_starts AS starts, p.day_starts[-1] AS ends, p.is_ahead AS is_ahead, p.day_classes AS classes_of,
                                        if(empty(used), [first_day], arrayMap(start -> toInt32(toDate(start, '{timeZone}')), arrayPopBack(p.day_starts))) AS day_list,
                                        p.line_classes AS line_classes, p.lowers AS lowers, p.uppers AS uppers, p.prices AS prices, p.percents AS percents,
                                        length(p.amounts) AS constants, p.taxable AS taxable, p.components AS components, p.names AS names, p.kinds AS kinds, p.tiers AS tiers,
                                        arrayMap(day -> toInt32(day), p.from_dates) AS from_days, arrayMap(day -> toInt32(day), p.to_dates) AS to_days,
                                        r.published_at AS published_at, r.published_seq AS published_seq
                                    FROM {database}.bill_row AS b
                                    INNER JOIN {database}.bill_run_current AS r ON r.run = b.run
                                    INNER JOIN (SELECT * FROM {database}.bill_plan FINAL) AS p ON p.run = b.run AND p.plan = b.plan
                                )
                            )
                        )
                    )
                )
            )
        )
    )
)
ARRAY JOIN arrayEnumerate(day_list) AS at
COMMENT 'The local days of each bill with what its lines cost on them, by the latest run of each cycle and period';

CREATE OR REPLACE VIEW {database}.day_cost{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients that own the bill',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    local_day Date COMMENT 'local calendar day, or the first one of the row',
    days UInt16 COMMENT 'days of the row: 1; all days of a bill without reads; all projected days of an open period',
    is_projected Bool COMMENT 'whether the row is the projected rest of an open period',
    quantity Decimal(18, 6) COMMENT 'usage of the bill on the day, in unit',
    unit String COMMENT 'unit of the quantity',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars; the costs of the days of a bill add up to its total. NULL if there is no bill',
    status String COMMENT 'status of the bill as in projected_bill; says why there is no cost',
    reason String COMMENT 'the same as a sentence, empty if there is no problem',
    run String COMMENT 'the run that computed the bill',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, external_site_id, meter_id, client_ids, billing_cycle_id, start_date, local_day, days, is_projected,
    reinterpret(micros, 'Decimal(18, 6)') AS quantity, unit,
    if(empty(line_costs), NULL, reinterpret(arraySum(line_costs), 'Decimal(18, 6)')) AS cost,
    status, reason, run, published_at, published_seq
FROM {database}.bill_day AS v
COMMENT 'What each local day cost: each line of a bill is spread over its days. A change of reads counts when the bill is computed again';

CREATE OR REPLACE VIEW {database}.day_cost_line{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    local_day Date COMMENT 'local calendar day, or the first one of the row',
    days UInt16 COMMENT 'days of the row, as in day_cost',
    is_projected Bool COMMENT 'whether the row is the projected rest of an open period',
    line_number UInt32 COMMENT 'number of the line on its bill, as in projected_bill_line; the number after its last line for rounding of the total',
    kind String COMMENT 'Energy, the kind of a charge, or Rounding',
    component String COMMENT 'component of the energy price, empty for other charges',
    name String COMMENT 'name of the window, tier or charge',
    tier UInt16 COMMENT 'tier, 0 if none',
    quantity Nullable(Decimal(18, 6)) COMMENT 'priced quantity, NULL for charges that do not depend on energy',
    unit String COMMENT 'unit of the quantity',
    cost Decimal(18, 6) COMMENT 'dollars; over the days of a bill they add up to the amount of the line',
    run String COMMENT 'the run that computed the bill',
    published_at DateTime64(3, 'UTC') COMMENT 'when it became visible',
    published_seq UInt64 COMMENT 'number of the publication that made the row visible; pull increments by it'
) AS SELECT
    account_number, external_site_id, meter_id, billing_cycle_id, start_date, local_day, days, is_projected, line_number,
    line_kinds[line_number] AS kind, line_components[line_number] AS component,
    line_names[line_number] AS name, line_tiers[line_number] AS tier,
    if(line_number > length(line_quantities), NULL, reinterpret(line_quantities[line_number], 'Decimal(18, 6)')) AS quantity,
    unit, reinterpret(line_cost, 'Decimal(18, 6)') AS cost, run, published_at, published_seq
FROM {database}.bill_day
ARRAY JOIN line_costs AS line_cost, arrayEnumerate(line_costs) AS line_number
WHERE line_cost != 0 OR ifNull(quantity, 0) != 0
COMMENT 'What each line of a bill cost on each local day: windows, tiers, charges';

CREATE OR REPLACE VIEW {database}.month_cost{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    month Date COMMENT 'first day of the calendar month',
    days UInt64 COMMENT 'days with a cost; projected days of an open period count for the month of the first of them',
    days_unknown UInt64 COMMENT 'days whose bill could not be computed, which the cost lacks',
    is_projected Bool COMMENT 'whether some of the days are projected',
    quantity Decimal(38, 6) COMMENT 'usage of the bills on these days, in unit',
    unit String COMMENT 'unit of the quantity',
    cost Nullable(Decimal(38, 6)) COMMENT 'dollars; NULL if no day has a cost',
    published_at DateTime64(3, 'UTC') COMMENT 'when the latest of its bills became visible',
    published_seq UInt64 COMMENT 'the highest number of theirs; pull increments by it'
) AS SELECT
    c.account_number AS account_number, c.external_site_id AS external_site_id, c.meter_id AS meter_id, toStartOfMonth(c.local_day) AS month,
    sumIf(c.days, c.cost IS NOT NULL) AS days, sumIf(c.days, c.cost IS NULL) AS days_unknown, max(c.is_projected) AS is_projected,
    sum(c.quantity) AS quantity, c.unit AS unit, sum(c.cost) AS cost, max(c.published_at) AS published_at, max(c.published_seq) AS published_seq
FROM {database}.day_cost AS c
GROUP BY account_number, external_site_id, meter_id, month, unit
COMMENT 'What each calendar month cost, from day_cost. projected_bill has what each billing period cost';

CREATE OR REPLACE VIEW {database}.interval_cost{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    client_ids Array(String) COMMENT 'clients that own the bill',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    local_day Date COMMENT 'local calendar day on which the interval starts',
    starts_at DateTime('UTC') COMMENT 'start of the interval, UTC',
    local_start DateTime('{timeZone}') COMMENT 'starts_at as the clock of the utility shows it, in its time zone',
    seconds UInt32 COMMENT 'length of the interval in seconds; of a row without a read the days of day_cost',
    is_projected Bool COMMENT 'whether the row is the projected rest of an open period',
    quantity Nullable(Decimal(38, 9)) COMMENT 'quantity of the interval, in unit, exact; NULL for days without reads',
    unit String COMMENT 'unit of the quantity',
    cost Nullable(Decimal(18, 6)) COMMENT 'dollars; the costs of a bill add up to its total. NULL if there is no bill',
    line_costs Array(Decimal(18, 6)) COMMENT 'of each line of the bill, by line_number of projected_bill_line, then of rounding of the total: dollars; they add up to cost',
    status String COMMENT 'status of the bill as in projected_bill; says why there is no cost',
    reason String COMMENT 'the same as a sentence, empty if there is no problem',
    run String COMMENT 'the run that computed the bill',
    published_at DateTime64(3, 'UTC') COMMENT 'when the bill became visible',
    published_seq UInt64 COMMENT 'number of the publication of the bill; pull increments by it',
    line_kinds Array(String) COMMENT 'of each of line_costs: Energy, the kind of a charge, or Rounding; empty if there is no bill',
    line_components Array(String) COMMENT 'of each of line_costs: the component of the energy price, empty for other charges',
    line_names Array(String) COMMENT 'of each of line_costs: the name of the window, tier or charge',
    line_tiers Array(UInt16) COMMENT 'of each of line_costs: the tier, 0 if none'
) AS SELECT
    account_number, external_site_id, meter_id, client_ids, billing_cycle_id, start_date, local_day,
    starts_at, toTimeZone(starts_at, '{timeZone}') AS local_start, if(is_read, read_seconds, toUInt32(ends_at - starts_at)) AS seconds, is_projected,
    if(is_read, toDecimal128(reinterpret(sent_micro, 'Decimal(18, 6)'), 9) / per_unit, NULL) AS quantity, unit,
    if(empty(day_costs), NULL, reinterpret(own_cost, 'Decimal(18, 6)')) AS cost,
    arrayMap(line -> reinterpret(line[at] - line[at - 1], 'Decimal(18, 6)'), costs) AS line_costs,
    status, reason, run, published_at, published_seq, line_kinds, line_components, line_names, line_tiers
FROM
(
    SELECT *, if(empty(costs), arrayMap(micro -> toInt64(0), micros), arrayReduce('sumForEach', arrayMap(line -> arrayPopFront(arrayDifference(arrayPushFront(line, toInt64(0)))), costs))) AS own_costs
    FROM
    (
        SELECT *, arrayConcat(
            taxed_costs,
            arrayMap((line, day_cost) -> arrayPushBack(arrayPopBack(line), day_cost), percent_raw, arraySlice(day_costs, length(taxed_costs) + 1, length(percent_raw))),
            arrayMap(day_cost -> arrayMap(k -> intDiv(day_cost * k, count), numbers_of), arraySlice(day_costs, length(taxed_costs) + length(percent_raw) + 1))) AS costs
        FROM
        (
            SELECT *, arrayMap(percent -> arrayMap(cost -> toInt64(round(cost * percent * toDecimal64('0.01', 2))), taxed), if(empty(day_costs), [], percents)) AS percent_raw
            FROM
            (
                SELECT *, arrayReduce('sumForEach', arrayPushFront(arrayFilter((line, is_taxed) -> is_taxed, taxed_costs, arraySlice(taxable, 1, length(taxed_costs))), arrayMap(micro -> toInt64(0), micros))) AS taxed
                FROM
                (
                    SELECT *, arrayConcat(
                        arrayMap((line, price, day_cost) -> arrayPushBack(arrayPopBack(arrayMap(energy -> toInt64(round(energy * price)), line)), day_cost),
                            energies, if(empty(day_costs), [], prices), arraySlice(day_costs, 1, length(energies))),
                        arrayMap(day_cost -> arrayMap(k -> intDiv(day_cost * k, count), numbers_of),
                            arraySlice(day_costs, length(energies) + 1, if(empty(day_costs), 0, constants)))) AS taxed_costs
                    FROM
                    (
                        SELECT *, arrayMap((line, low, high, start) -> arrayMap(fill -> least(greatest(fill, low), high) - start, line),
                            lines_used, low_limits, high_limits, arrayMap((fill, low, high) -> least(greatest(fill, low), high), filled_before, low_limits, high_limits)) AS energies,
                            arrayEnumerate(micros) AS numbers_of, length(micros) AS count
                        FROM
                        (
                            SELECT *, arrayMap((mask, fill) -> arrayMap(sum -> fill + sum, arrayCumSum(arrayMap((micro, class) -> micro * mask[class], micros, interval_classes))), if(empty(day_costs), [], line_classes), filled_before) AS lines_used,
                                if(empty(day_costs), [], lowers) AS low_limits, if(empty(day_costs), [], uppers) AS high_limits
                            FROM
                            (
                                SELECT *, line_costs AS day_costs, if(empty(line_costs), [], filled) AS filled_before,
                                    notEmpty(reads) AS is_read,
                                    if(is_read, reads.1, [begins_at]) AS instants,
                                    if(is_read, reads.2, [toInt64(0)]) AS sent_micros, arrayMap(micro -> intDiv(micro, per_unit), sent_micros) AS micros,
                                    multiIf(NOT is_read, [toUInt16(0)], read_seconds = 900 AND length(reads) = length(classes), classes, arrayMap(place -> classes[place], reads.3)) AS interval_classes
                                FROM
                                (
                                  SELECT *, arrayMin(held_series.1) AS read_seconds, arrayFlatten(arrayMap(s -> s.2, arrayFilter(s -> s.1 = read_seconds, held_series))) AS held,
                                    arrayFilter(read -> read.3 BETWEEN 1 AND quarters,
                                    arrayMap(read -> (read.1, read.2, if(read_seconds >= 86400, 49, toInt32(floor((toInt32(read.1) - toInt32(begins_at)) / 900)) + 1)),
                                        if(arrayAll(step -> step >= 0, arrayDifference(arrayMap(at -> toInt64(at), held.1))), held, arraySort(held)))) AS reads
                                  FROM
                                  (
                                    SELECT d.run AS run, d.account_number AS account_number, d.external_site_id AS external_site_id, d.meter_id AS meter_id, d.client_ids AS client_ids,
                                        d.billing_cycle_id AS billing_cycle_id, d.start_date AS start_date, d.status AS status, d.reason AS reason, d.local_day AS local_day,
                                        d.is_projected AS is_projected, d.starts_at AS begins_at, d.ends_at AS ends_at, d.unit AS unit, d.per_unit AS per_unit, d.filled AS filled,
                                        d.line_costs AS line_costs, d.classes AS classes, length(d.classes) AS quarters, d.line_classes AS line_classes, d.lowers AS lowers, d.uppers AS uppers,
                                        d.prices AS prices, d.percents AS percents, d.constants AS constants, d.taxable AS taxable, d.line_kinds AS line_kinds, d.line_components AS line_components, d.line_names AS line_names, d.line_tiers AS line_tiers, d.published_at AS published_at, d.published_seq AS published_seq,
                                        arrayFilter(s -> notEmpty(s.2), arrayMap(s -> (s.3, arrayFilter(read -> arrayExists(span -> span.1 <= read.1 AND read.1 < span.2, s.1), s.2)),
                                            arrayMap(s -> (arrayMap(h -> (h.2, h.3), arrayFilter(h -> notEmpty(h.5) AND (h.1 = s.2 OR (h.1 = '\0' AND s.3)), t.holds)), s.4, s.5),
                                                arrayFilter(s -> s.1 = d.external_site_id, u.series)))) AS held_series
                                    FROM {database}.bill_day AS d
                                    LEFT JOIN
                                    (
                                        SELECT meter_id, local_day, groupArray((external_site_id, account_number, is_unknown, reads, seconds)) AS series
                                        FROM
                                        (
                                            SELECT meter_id, local_day, seconds, external_site_id, account_number,
                                                account_number NOT IN (SELECT account_number FROM {database}.tenancy) AS is_unknown,
                                                groupArray((starts_at, reinterpret(quantity, 'Int64'))) AS reads
                                            FROM {database}.usage_current
                                            GROUP BY local_day, meter_id, seconds, external_site_id, account_number
                                        )
                                        GROUP BY meter_id, local_day
                                    ) AS u ON u.meter_id = d.meter_id AND u.local_day = d.local_day
                                    LEFT JOIN
                                    (
                                        SELECT meter_id, external_site_id, account_number, client_id, holds FROM {database}.tenancy FINAL
                                    ) AS t ON t.meter_id = d.meter_id AND t.external_site_id = d.external_site_id AND t.account_number = d.account_number
                                        AND t.client_id = if(d.account_number = '', d.client_ids[1], '')
                                  )
                                )
                            )
                        )
                    )
                )
            )
        )
    )
)
ARRAY JOIN instants AS starts_at, sent_micros AS sent_micro, own_costs AS own_cost, arrayEnumerate(micros) AS at
SETTINGS join_use_nulls = 0
COMMENT 'What each interval of registered meters cost. Days without reads, days that are projected and bills without reads have one row';

CREATE OR REPLACE VIEW {database}.hour_cost{onCluster} (
    account_number String COMMENT 'contract account, empty if the utility has none',
    external_site_id String COMMENT 'premise',
    meter_id String COMMENT 'permanent and unique meter identifier',
    billing_cycle_id String COMMENT 'billing cycle, as text',
    start_date Date COMMENT 'first day of the bill',
    local_day Date COMMENT 'local calendar day',
    starts_at DateTime('UTC') COMMENT 'start of the hour of the clock, UTC: the repeated hour of a clock change has two rows',
    local_start DateTime('{timeZone}') COMMENT 'starts_at as the clock of the utility shows it, in its time zone',
    seconds UInt64 COMMENT 'length of the intervals that start in the hour; longer than an hour for daily reads and for days without reads',
    is_projected Bool COMMENT 'whether the row is the projected rest of an open period',
    quantity Nullable(Decimal(38, 9)) COMMENT 'quantity of the intervals, in unit, exact; NULL for days without reads',
    unit String COMMENT 'unit of the quantity',
    cost Nullable(Decimal(38, 6)) COMMENT 'dollars; NULL if there is no bill',
    status String COMMENT 'status of the bill as in projected_bill; says why there is no cost',
    reason String COMMENT 'the same as a sentence, empty if there is no problem',
    run String COMMENT 'the run that computed the bill',
    published_at DateTime64(3, 'UTC') COMMENT 'when the bill became visible',
    published_seq UInt64 COMMENT 'number of the publication of the bill; pull increments by it'
) AS SELECT
    c.account_number AS account_number, c.external_site_id AS external_site_id, c.meter_id AS meter_id, c.billing_cycle_id AS billing_cycle_id, c.start_date AS start_date,
    c.local_day AS local_day, toTimeZone(toStartOfHour(c.local_start), 'UTC') AS starts_at, toStartOfHour(c.local_start) AS local_start, sum(c.seconds) AS seconds,
    c.is_projected AS is_projected, sum(c.quantity) AS quantity, c.unit AS unit, sum(c.cost) AS cost, c.status AS status, c.reason AS reason,
    c.run AS run, c.published_at AS published_at, c.published_seq AS published_seq
FROM {database}.interval_cost AS c
GROUP BY account_number, external_site_id, meter_id, billing_cycle_id, start_date, local_day, starts_at, local_start, is_projected, unit, status, reason, run, published_at, published_seq
COMMENT 'What each hour cost, from interval_cost';
