package streamlets.spark;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** An offset as the planner wrote it. */
final class TextOffset extends Offset {
  private final String text;

  TextOffset(String text) {
    this.text = text;
  }

  public String json() {
    return text;
  }
}
