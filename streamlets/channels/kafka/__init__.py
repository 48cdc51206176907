"""The Kafka channel: topics of a Kafka cluster, read and written by Spark's own connector."""
