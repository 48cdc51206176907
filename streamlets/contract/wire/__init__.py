"""Records as the bytes of messages, in the formats that other tools read and write; without Spark."""
