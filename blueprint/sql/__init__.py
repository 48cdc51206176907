"""The language of SQL jobs: `CREATE STREAM`, `SAVE STREAM`, `STOP STREAM`, `SHOW STREAMS`, and Spark SQL."""
