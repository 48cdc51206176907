package streamlets.spark;

import java.io.IOException;

/** A file cannot be read. The name is that of the same error in Python, by which a run recognizes it. */
public final class TopicDamagedError extends IOException {
  private static final long serialVersionUID = 1L;

  public TopicDamagedError(String message) {
    super(message);
  }
}
