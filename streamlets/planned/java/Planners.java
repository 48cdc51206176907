package streamlets.spark;

/** Opens planners; implemented in Python. */
public interface Planners {
  /**
   * Returns a new planner.
   *
   * @param source the options of the source, as the Python part wrote them
   */
  Planner open(String source);
}
