package streamlets.spark;

/** An error in a planner. Its message is Python's traceback. */
public final class PlannerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public PlannerException(String traceback) {
    super(traceback);
  }
}
