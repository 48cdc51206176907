package streamlets.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** A stream whose batches are planned in Python in the driver, and whose files tasks read with Spark's reader. */
final class PlannedStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Planner planner;
  private final PartitionReaderFactory factory;
  private Watch watch;

  PlannedStream(Planner planner, PartitionReaderFactory factory) {
    this.planner = planner;
    this.factory = factory;
  }

  public ReadLimit getDefaultReadLimit() {
    long limit = value(planner.limit()).asLong();
    return limit == 0 ? ReadLimit.allAvailable() : ReadLimit.maxRows(limit);
  }

  public Offset initialOffset() {
    return offset(planner.initial());
  }

  public Offset deserializeOffset(String json) {
    return new TextOffset(json);
  }

  public Offset latestOffset() {
    throw new UnsupportedOperationException("a stream with a limit is not asked for its end alone");
  }

  public Offset latestOffset(Offset start, ReadLimit limit) {
    if (watch != null && watch.endsAt(start.json())) {
      return start;
    }
    String answer = planner.latest(start.json(), limit instanceof ReadAllAvailable);
    JsonNode news = value(answer);
    JsonNode files = (JsonNode) news.get(1);
    watch = files.isNull() ? null : new Watch(start.json(), files);
    return new TextOffset(((JsonNode) news.get(0)).asText());
  }

  public Offset reportLatestOffset() {
    return offset(planner.known());
  }

  public void prepareForTriggerAvailableNow() {
    value(planner.bound());
  }

  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    JsonNode tasks = value(planner.plan(start.json(), end.json()));
    InputPartition[] parts = new InputPartition[tasks.size()];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = new Part((JsonNode) tasks.get(i));
    }
    return parts;
  }

  public PartitionReaderFactory createReaderFactory() {
    return factory;
  }

  public void commit(Offset end) {}

  public void stop() {
    planner.close();
  }

  private static Offset offset(String answer) {
    JsonNode value = value(answer);
    return value.isNull() ? null : new TextOffset(value.asText());
  }

  private static JsonNode value(String answer) {
    JsonNode content;
    try {
      content = JSON.readTree(answer);
    } catch (IOException error) {
      throw new IllegalStateException("the planner answered " + answer, error);
    }
    if (content.has("error")) {
      throw new PlannerException(((JsonNode) content.get("error")).asText());
    }
    return (JsonNode) content.get("value");
  }
}
