package streamlets.spark;

/**
 * Plans the batches of a stream; implemented in Python, and called in the driver.
 *
 * <p>The methods return a JSON object: the result as `value`, or a Python traceback as `error`. Offsets are texts.
 */
public interface Planner {
  /** Returns the maximum number of rows in a batch; 0 for no limit. */
  String limit();

  /** Returns the offset at which a new checkpoint begins. */
  String initial();

  /**
   * Returns the end of the next batch, with what to look at before this method is called again (see {@link Watch}).
   *
   * @param start the end of the batch before
   * @param all whether the limit does not hold
   */
  String latest(String start, boolean all);

  /** Returns the last known end of the stream; null if it is unknown. */
  String known();

  /** Makes the current end of the stream the end of a bounded run. */
  String bound();

  /** Returns the tasks of a batch, each with the stretches that it reads (see {@link Stretch}). */
  String plan(String start, String end);

  /** Releases the memory of a stream that has ended. */
  String close();
}
