-- The archive of the flights that left New York in 2013, as Parquet files by month; the flights that were cancelled; and
-- the delays of each carrier, which are printed.

CREATE STREAM flights (
  year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
  arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
  hour INT, minute INT, time_hour TIMESTAMP
)
FROM csv
OPTIONS ('path' = '${data}', 'pathGlobFilter' = 'flights*.csv', 'header' = true, 'nullValue' = 'NA', 'maxFilesPerTrigger' = 10);

CREATE TEMPORARY VIEW flown AS
SELECT time_hour, month, carrier, flight, origin, dest, distance, air_time, dep_delay, arr_delay,
  round(distance / (air_time / 60)) AS mph
FROM flights
WHERE air_time IS NOT NULL;

CREATE TEMPORARY VIEW cancelled AS
SELECT time_hour, carrier, flight, origin, dest FROM flights WHERE dep_time IS NULL;

CREATE TEMPORARY VIEW delays AS
SELECT carrier, count(*) AS flights, round(avg(arr_delay), 1) AS minutes FROM flown GROUP BY carrier;

SAVE STREAM flown
TO parquet
PARTITIONED ON (month)
OPTIONS ('path' = '${out}/flown', 'existing' = 'replace');

SAVE STREAM cancelled
TO json
OPTIONS ('path' = '${out}/cancelled', 'existing' = 'replace');

SAVE STREAM delays
TO console
IDENTIFIED BY delays_by_carrier
OUTPUT MODE COMPLETE;
