package streamlets.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;

/**
 * Files that show whether a stream without news may have some, so that the planner is not called each time.
 *
 * <p>It expires after a second: the planner also finds what the files do not show, such as a topic that was replaced.
 */
final class Watch {
  private static final long NANOSECONDS = 1000L * 1000L * 1000L;

  private final String start;
  private final File[] awaited;
  private final File directory;
  private final long modified;
  private final long until;

  /**
   * @param start the end of the stream
   * @param plan the paths of files that do not exist as long as there is nothing new, the path of a directory that is
   *     not modified, and the time when it was last modified, in milliseconds since the epoch
   */
  Watch(String start, JsonNode plan) {
    this.start = start;
    JsonNode paths = (JsonNode) plan.get(0);
    awaited = new File[paths.size()];
    for (int i = 0; i < awaited.length; i++) {
      awaited[i] = new File(((JsonNode) paths.get(i)).asText());
    }
    directory = new File(((JsonNode) plan.get(1)).asText());
    modified = ((JsonNode) plan.get(2)).asLong();
    until = System.nanoTime() + NANOSECONDS;
  }

  /** Returns whether the stream still ends at an offset, as far as the files show. */
  boolean endsAt(String offset) {
    if (!start.equals(offset) || System.nanoTime() - until >= 0 || directory.lastModified() != modified) {
      return false;
    }
    for (int i = 0; i < awaited.length; i++) {
      if (awaited[i].exists()) {
        return false;
      }
    }
    return true;
  }
}
