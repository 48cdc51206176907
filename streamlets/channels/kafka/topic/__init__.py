"""A topic of the Kafka channel."""

from streamlets.channels.kafka.topic.topic import KafkaTopic

__all__ = ["KafkaTopic"]
