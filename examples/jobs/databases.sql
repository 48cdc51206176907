-- The flights of New York in a table of PostgreSQL, and in a Delta table that other tools read. A flight that is
-- reported again replaces its row.

CREATE STREAM flights (
  year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
  arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
  hour INT, minute INT, time_hour TIMESTAMP
)
FROM csv
OPTIONS ('path' = '${data}', 'pathGlobFilter' = 'flights*.csv', 'header' = true, 'nullValue' = 'NA', 'maxFilesPerTrigger' = 10);

CREATE TEMPORARY VIEW flown AS
SELECT concat(origin, '-', carrier, '-', flight, '-', date_format(time_hour, 'yyyyMMddHH')) AS id,
  time_hour, month, carrier, flight, origin, dest, distance, air_time, arr_delay
FROM flights
WHERE air_time IS NOT NULL;

SAVE STREAM flown
TO jdbc
IDENTIFIED BY flown_database
OPTIONS ('url' = '${database}', 'table' = 'flights', 'keys' = 'id', 'sequence-by' = 'time_hour');

SAVE STREAM flown
TO delta
IDENTIFIED BY flown_delta
PARTITIONED ON (month)
OPTIONS ('path' = '${out}/flights');
