package streamlets.spark;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.connector.read.InputPartition;

/** The stretches that a task reads, in their order. */
final class Part implements InputPartition {
  private static final long serialVersionUID = 1L;

  final Stretch[] stretches;

  Part(JsonNode plan) {
    stretches = new Stretch[plan.size()];
    for (int i = 0; i < stretches.length; i++) {
      stretches[i] = new Stretch((JsonNode) plan.get(i));
    }
  }
}
