-- Queries for the tables with events of many machines; posixtrace-fleet(7) describes these.
--
-- Each query stands here twice: `modern' is for the current engine, `plain' for the old server of
-- Debian, which has neither window functions nor maps. Names of events and fields, lengths of time
-- and the request that is asked for are examples: put your own in their places. All are bounded by
-- time, so that the engine reads the days that they are about and no others.
--
--     clickhouse-client --multiline         then paste one of them
--     curl 'http://server:8123/' --data-binary @one-of-them.sql
--
-- A pair, such as request.begin and request.end, belongs together if both events are of one thread.
-- Where pairs of a kind lie within each other, a `level' tells them apart: it counts how many are open.
-- An end whose begin is missing, and a begin without an end, belong to no pair.


-- query: p99-by-host-and-minute
-- How long the requests took, by host and minute, in the last hour.

-- dialect: modern
SELECT host, toStartOfMinute(opened) AS minute, count() AS pairs,
    quantileTDigest(0.5)(took_ms) AS p50_ms, quantileTDigest(0.99)(took_ms) AS p99_ms,
    max(took_ms) AS max_ms
FROM
(
    SELECT host, event, lagInFrame(event) OVER w AS before, lagInFrame(time) OVER w AS opened,
        (ns - lagInFrame(ns) OVER w) / 1e6 AS took_ms
    FROM
    (
        SELECT host, log, process, tid, event, time, ns, seq,
            sum(if(event = 'request.begin', 1, -1)) OVER
                (PARTITION BY host, log, process, tid ORDER BY ns, seq)
                + (event = 'request.end') AS level
        FROM posixtrace.events
        WHERE event IN ('request.begin', 'request.end') AND time > now() - INTERVAL 1 HOUR
    )
    WINDOW w AS (PARTITION BY host, log, process, tid, level ORDER BY ns, seq)
)
WHERE event = 'request.end' AND before = 'request.begin'
GROUP BY host, minute
ORDER BY host, minute;

-- dialect: plain
SELECT host, toStartOfMinute(toDateTime(intDiv(pair.1, 1000000000))) AS minute, count() AS pairs,
    quantileTDigest(0.5)(pair.2 / 1e6) AS p50_ms, quantileTDigest(0.99)(pair.2 / 1e6) AS p99_ms,
    max(pair.2 / 1e6) AS max_ms
FROM
(
    SELECT host,
        arraySort(groupArray((ns, seq, if(event = 'request.begin', 1, -1)))) AS e,
        arraySort(arrayMap((x, open) -> (open + (x.3 = -1), x.1, x.2, x.3),
            e, arrayCumSum(x -> x.3, e))) AS levels,
        arrayJoin(arrayFilter(p -> p.2 >= 0, arrayMap(
            (a, b) -> (a.2, if(a.1 = b.1 AND a.4 = 1 AND b.4 = -1, b.2 - a.2, -1)),
            arrayPopBack(levels), arrayPopFront(levels)))) AS pair
    FROM posixtrace.events FINAL
    WHERE event IN ('request.begin', 'request.end') AND second > now() - INTERVAL 1 HOUR
        AND day >= today() - 1
    GROUP BY host, log, process, tid
)
GROUP BY host, minute
ORDER BY host, minute;


-- query: changed-since-yesterday
-- Events that came more than twice as often in the last day as in the one before, or less than half
-- as often; what is new, and what has gone.

-- dialect: modern
SELECT event, countIf(time > now() - INTERVAL 1 DAY) AS today,
    countIf(time <= now() - INTERVAL 1 DAY) AS yesterday, uniqExact(host) AS hosts
FROM posixtrace.events
WHERE time > now() - INTERVAL 2 DAY AND event != 'posixtrace.lost'
GROUP BY event
HAVING today > 2 * yesterday OR yesterday > 2 * today
ORDER BY abs(log2((today + 1) / (yesterday + 1))) DESC, event;

-- dialect: plain
SELECT event, countIf(second > now() - INTERVAL 1 DAY) AS today,
    countIf(second <= now() - INTERVAL 1 DAY) AS yesterday, uniqExact(host) AS hosts
FROM posixtrace.events FINAL
WHERE second > now() - INTERVAL 2 DAY AND day >= today() - 2 AND event != 'posixtrace.lost'
GROUP BY event
HAVING today > 2 * yesterday OR yesterday > 2 * today
ORDER BY abs(log2((today + 1) / (yesterday + 1))) DESC, event;


-- query: slower-since-yesterday
-- All pairs by their names: p99 in the last day and in the one before, what grew most first.

-- dialect: modern
SELECT host, pair, countIf(is_today) AS pairs,
    quantileTDigestIf(0.99)(took_ms, is_today) AS p99_ms,
    quantileTDigestIf(0.99)(took_ms, NOT is_today) AS yesterday_p99_ms,
    p99_ms / yesterday_p99_ms AS factor
FROM
(
    SELECT host, pair, is_end, lagInFrame(is_end, 1, 1) OVER w AS was_end,
        (ns - lagInFrame(ns) OVER w) / 1e6 AS took_ms, time > now() - INTERVAL 1 DAY AS is_today
    FROM
    (
        SELECT host, log, process, tid, time, ns, seq, endsWith(event, '.end') AS is_end,
            replaceRegexpOne(event, '[.](begin|end)$', '') AS pair,
            sum(if(is_end, -1, 1)) OVER
                (PARTITION BY host, log, process, tid, pair ORDER BY ns, seq) + is_end AS level
        FROM posixtrace.events
        WHERE (event LIKE '%.begin' OR event LIKE '%.end') AND time > now() - INTERVAL 2 DAY
    )
    WINDOW w AS (PARTITION BY host, log, process, tid, pair, level ORDER BY ns, seq)
)
WHERE is_end AND NOT was_end
GROUP BY host, pair
HAVING pairs > 0 AND countIf(NOT is_today) > 0
ORDER BY factor DESC, host, pair;

-- dialect: plain
SELECT host, pair, countIf(is_today) AS pairs,
    quantileTDigestIf(0.99)(took.2 / 1e6, is_today) AS p99_ms,
    quantileTDigestIf(0.99)(took.2 / 1e6, NOT is_today) AS yesterday_p99_ms,
    p99_ms / yesterday_p99_ms AS factor
FROM
(
    SELECT host, replaceRegexpOne(event, '[.](begin|end)$', '') AS pair,
        arraySort(groupArray((ns, seq, if(event LIKE '%.end', -1, 1)))) AS e,
        arraySort(arrayMap((x, open) -> (open + (x.3 = -1), x.1, x.2, x.3),
            e, arrayCumSum(x -> x.3, e))) AS levels,
        arrayJoin(arrayFilter(p -> p.2 >= 0, arrayMap(
            (a, b) -> (b.2, if(a.1 = b.1 AND a.4 = 1 AND b.4 = -1, b.2 - a.2, -1)),
            arrayPopBack(levels), arrayPopFront(levels)))) AS took,
        took.1 > (toUnixTimestamp(now()) - 86400) * 1000000000 AS is_today
    FROM posixtrace.events FINAL
    WHERE (event LIKE '%.begin' OR event LIKE '%.end') AND second > now() - INTERVAL 2 DAY
        AND day >= today() - 2
    GROUP BY host, log, process, tid, pair
)
GROUP BY host, pair
HAVING pairs > 0 AND countIf(NOT is_today) > 0
ORDER BY factor DESC, host, pair;


-- query: slowest-with-neighbours
-- The three slowest requests of the last hour, and what their hosts did meanwhile, in all threads.

-- dialect: modern
WITH slowest AS
(
    SELECT host, boot, opened_ns, ns AS closed_ns, ns - opened_ns AS took_ns
    FROM
    (
        SELECT host, boot, event, ns, lagInFrame(event) OVER w AS before,
            lagInFrame(ns) OVER w AS opened_ns
        FROM
        (
            SELECT host, boot, log, process, tid, event, ns, seq,
                sum(if(event = 'request.begin', 1, -1)) OVER
                    (PARTITION BY host, log, process, tid ORDER BY ns, seq)
                    + (event = 'request.end') AS level
            FROM posixtrace.events
            WHERE event IN ('request.begin', 'request.end') AND time > now() - INTERVAL 1 HOUR
        )
        WINDOW w AS (PARTITION BY host, log, process, tid, level ORDER BY ns, seq)
    )
    WHERE event = 'request.end' AND before = 'request.begin'
    ORDER BY took_ns DESC
    LIMIT 3
)
SELECT s.took_ns / 1e6 AS took_ms, e.host AS host, (e.ns - s.opened_ns) / 1e6 AS at_ms, e.pid AS pid,
    e.tid AS tid, e.event AS event, e.ints AS ints, e.strings AS strings
FROM posixtrace.events AS e
INNER JOIN slowest AS s ON e.host = s.host AND e.boot = s.boot
WHERE e.time > now() - INTERVAL 1 HOUR AND e.ns BETWEEN s.opened_ns AND s.closed_ns
ORDER BY s.took_ns DESC, s.opened_ns, e.ns, e.seq
LIMIT 100 BY s.opened_ns;

-- dialect: plain
SELECT took_ns / 1e6 AS took_ms, host, (ns - opened_ns) / 1e6 AS at_ms, pid, tid, event, int_names,
    int_values, string_names, string_values
FROM
(
    SELECT host, boot, ns, seq, pid, tid, event, ints.name AS int_names, ints.value AS int_values,
        strings.name AS string_names, strings.value AS string_values
    FROM posixtrace.events FINAL
    WHERE second > now() - INTERVAL 1 HOUR AND day >= today() - 1
)
ALL INNER JOIN
(
    SELECT host, boot, pair.1 AS opened_ns, pair.2 AS took_ns
    FROM
    (
        SELECT host, boot,
            arraySort(groupArray((ns, seq, if(event = 'request.begin', 1, -1)))) AS e,
            arraySort(arrayMap((x, open) -> (open + (x.3 = -1), x.1, x.2, x.3),
                e, arrayCumSum(x -> x.3, e))) AS levels,
            arrayJoin(arrayFilter(p -> p.2 >= 0, arrayMap(
                (a, b) -> (a.2, if(a.1 = b.1 AND a.4 = 1 AND b.4 = -1, b.2 - a.2, -1)),
                arrayPopBack(levels), arrayPopFront(levels)))) AS pair
        FROM posixtrace.events FINAL
        WHERE event IN ('request.begin', 'request.end') AND second > now() - INTERVAL 1 HOUR
            AND day >= today() - 1
        GROUP BY host, boot, log, process, tid
    )
    ORDER BY took_ns DESC
    LIMIT 3
)
USING host, boot
WHERE ns >= opened_ns AND ns <= opened_ns + took_ns
ORDER BY took_ns DESC, opened_ns, ns, seq
LIMIT 100 BY opened_ns;


-- query: hosts-with-losses
-- Hosts that lost events in the last day: how many, which share of all, how often at least, when. A loss
-- may have two rows: one in its place, with `from_ns', and at the end of the log one with the sum for all.

-- dialect: modern
SELECT host, lost, lost / (lost + events) AS share, times, first, last
FROM
(
    SELECT host, sum(ints['lost']) AS lost, greatest(1, countIf(mapContains(ints, 'from_ns'))) AS times,
        min(time) AS first, max(time) AS last
    FROM posixtrace.events
    WHERE event = 'posixtrace.lost' AND time > now() - INTERVAL 1 DAY
    GROUP BY host
) AS losses
LEFT JOIN
(
    SELECT host, count() AS events
    FROM posixtrace.events
    WHERE event != 'posixtrace.lost' AND time > now() - INTERVAL 1 DAY
    GROUP BY host
) AS kept USING host
ORDER BY lost DESC, host;

-- dialect: plain
SELECT host, lost, lost / (lost + events) AS share, times, first, last
FROM
(
    SELECT host, sum(ints.value[indexOf(ints.name, 'lost')]) AS lost,
        greatest(1, countIf(has(ints.name, 'from_ns'))) AS times, min(second) AS first, max(second) AS last
    FROM posixtrace.events FINAL
    WHERE event = 'posixtrace.lost' AND second > now() - INTERVAL 1 DAY AND day >= today() - 1
    GROUP BY host
)
ANY LEFT JOIN
(
    SELECT host, count() AS events
    FROM posixtrace.events FINAL
    WHERE event != 'posixtrace.lost' AND second > now() - INTERVAL 1 DAY AND day >= today() - 1
    GROUP BY host
)
USING host
ORDER BY lost DESC, host;


-- query: request-across-hosts
-- What became of one request, on all hosts, by a field that its events share. A key that is a text is
-- in `strings', a number over 9223372036854775807 in `uints'. `order' tells whether the event surely
-- came after the line above: if that is of another host, and both clocks may be wrong by more than lies
-- between them, it may have been the other way round.

-- dialect: modern
SELECT host, time, round((ns - before) / 1e6, 3) AS gap_ms, round(bound / 1e6, 3) AS bound_ms,
    if(host = before_host OR before_host = '' OR ns - before > toFloat64(bound) + before_bound,
        'sure', 'unsure') AS order, pid, tid, event
FROM
(
    SELECT host, time, ns, bound, pid, tid, event, lagInFrame(ns, 1, ns) OVER w AS before,
        lagInFrame(toString(host)) OVER w AS before_host, lagInFrame(bound) OVER w AS before_bound
    FROM posixtrace.events
    WHERE mapContains(ints, 'request') AND ints['request'] = 4711
        AND time > now() - INTERVAL 1 HOUR
    WINDOW w AS (ORDER BY ns, host, log, seq)
)
ORDER BY ns, host
LIMIT 1000;

-- dialect: plain
SELECT x.2 AS host, toDateTime(intDiv(x.1, 1000000000)) AS second,
    round((x.1 - y.1) / 1e6, 3) AS gap_ms, round(x.5 / 1e6, 3) AS bound_ms,
    if(x.2 = y.2 OR x.1 - y.1 > toFloat64(x.5) + y.5, 'sure', 'unsure') AS order,
    x.6 AS pid, x.7 AS tid, x.8 AS event
FROM
(
    SELECT arraySort(groupArray((ns, host, log, seq, bound, pid, tid, event))) AS e
    FROM posixtrace.events FINAL
    WHERE has(ints.name, 'request') AND ints.value[indexOf(ints.name, 'request')] = 4711
        AND second > now() - INTERVAL 1 HOUR AND day >= today() - 1
    HAVING notEmpty(e)
)
ARRAY JOIN e AS x, arrayPushFront(arrayPopBack(e), e[1]) AS y
LIMIT 1000;


-- query: clocks-by-host
-- By how much the times of a host may have been wrong in the last day; and how many events there are
-- of which nobody knows that.

-- dialect: modern
SELECT host, maxIf(bound, bound != 18446744073709551615) / 1e6 AS bound_ms,
    countIf(bound = 18446744073709551615) AS unknown, count() AS events
FROM posixtrace.events
WHERE time > now() - INTERVAL 1 DAY
GROUP BY host
ORDER BY unknown DESC, bound_ms DESC, host;

-- dialect: plain
SELECT host, maxIf(bound, bound != 18446744073709551615) / 1e6 AS bound_ms,
    countIf(bound = 18446744073709551615) AS unknown, count() AS events
FROM posixtrace.events FINAL
WHERE second > now() - INTERVAL 1 DAY AND day >= today() - 1
GROUP BY host
ORDER BY unknown DESC, bound_ms DESC, host;


-- query: retention
-- Nothing is removed unless you say so. The current engine then removes what is older by itself; for the
-- old one, this lists the statements to be executed, each of which removes a day.

-- dialect: modern
ALTER TABLE posixtrace.events MODIFY TTL toDateTime(time) + INTERVAL 30 DAY;

-- dialect: plain
SELECT DISTINCT concat('ALTER TABLE posixtrace.events DROP PARTITION \'', partition, '\'') AS statement
FROM system.parts
WHERE database = 'posixtrace' AND table = 'events' AND active AND max_date < today() - 30
ORDER BY statement;
