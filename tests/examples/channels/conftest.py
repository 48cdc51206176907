"""The server of the channel over Redis."""

from tests.examples.channels.redis_server import redis_server

__all__ = ["redis_server"]
