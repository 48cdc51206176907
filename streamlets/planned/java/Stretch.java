package streamlets.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;

/** Consecutive rows of a Parquet file. */
final class Stretch implements Serializable {
  private static final long serialVersionUID = 1L;

  final String path;
  final long size;
  final long row;
  final long count;
  final String damaged;

  /**
   * @param plan the path of the file, its size in bytes, the first row to read (from 0), the number of rows to read, and
   *     the message of the error if the file is damaged, with `{}` for the reason
   */
  Stretch(JsonNode plan) {
    path = field(plan, 0).asText();
    size = field(plan, 1).asLong();
    row = field(plan, 2).asLong();
    count = field(plan, 3).asLong();
    damaged = field(plan, 4).asText();
  }

  private static JsonNode field(JsonNode plan, int number) {
    return (JsonNode) plan.get(number);
  }
}
