package streamlets.spark;

import java.io.Closeable;
import java.io.EOFException;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskKilledException;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;

/** Reads the stretches of a task, one after the other. */
abstract class StretchReader implements PartitionReader {
  private final Function1 read;
  private final Part part;
  private int next;
  private Stretch stretch;
  private Iterator rows;
  /** The number of rows to skip, and to read then, of the current stretch. */
  protected long skip;
  protected long rest;

  StretchReader(Function1 read, Part part) {
    this.read = read;
    this.part = part;
  }

  /** Opens the next stretch if the current one has been read. Returns whether there is one. */
  protected final boolean open() throws IOException {
    while (rest == 0) {
      close();
      if (next == part.stretches.length) {
        return false;
      }
      stretch = part.stretches[next++];
      File file = new File(stretch.path);
      if (!file.exists()) {
        throw new FileNotFoundException(stretch.path + " was deleted after the batch was planned");
      }
      if (file.length() != stretch.size) {
        throw damaged("it does not have the " + stretch.size + " bytes that were committed");
      }
      try {
        rows = (Iterator) read.apply(partitioned(file));
      } catch (Exception error) {
        throw translated(error);
      }
      skip = stretch.row;
      rest = stretch.count;
    }
    return true;
  }

  /** Returns the next row, or the next batch of rows, of the file. */
  protected final Object following() throws IOException {
    boolean more;
    Object row = null;
    try {
      more = rows.hasNext();
      if (more) {
        row = rows.next();
      }
    } catch (Exception error) {
      throw translated(error);
    }
    if (!more) {
      throw damaged("it has fewer records than were committed");
    }
    return row;
  }

  public final void close() throws IOException {
    if (rows instanceof Closeable) {
      ((Closeable) rows).close();
    }
    rows = null;
  }

  private static PartitionedFile partitioned(File file) {
    SparkPath path = SparkPath.fromPath(new Path(file.toURI()));
    return new PartitionedFile(
        InternalRow.empty(), path, 0L, file.length(), new String[0], 0L, file.length(), (Map) Map$.MODULE$.empty());
  }

  private IOException damaged(String reason) {
    return new TopicDamagedError(stretch.damaged.replace("{}", reason));
  }

  /** Returns the error of a damaged file. An interrupted task's error is raised as it is. */
  private IOException translated(Exception error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof InterruptedException
          || cause instanceof InterruptedIOException
          || cause instanceof ClosedByInterruptException
          || cause instanceof TaskKilledException) {
        throw raised(error);
      }
    }
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String message = cause.getMessage() == null ? cause.getClass().getName() : cause.getMessage();
    if (cause instanceof FileNotFoundException) {
      return new FileNotFoundException(message);
    }
    return damaged(cause instanceof EOFException ? "it ends too early" : message.split("\n")[0]);
  }

  private static RuntimeException raised(Exception error) {
    return error instanceof RuntimeException ? (RuntimeException) error : new RuntimeException(error);
  }
}
