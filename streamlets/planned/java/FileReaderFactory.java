package streamlets.spark;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import scala.Function1;

/** Opens the readers of tasks. */
final class FileReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;

  private final Function1 read;
  private final boolean columnar;

  /**
   * @param read Spark's reader of a Parquet file, which returns an iterator
   * @param columnar whether the iterator has batches of columns, and not rows
   */
  FileReaderFactory(Function1 read, boolean columnar) {
    this.read = read;
    this.columnar = columnar;
  }

  public boolean supportColumnarReads(InputPartition partition) {
    return columnar;
  }

  public PartitionReader createReader(InputPartition partition) {
    return new RowReader(read, (Part) partition);
  }

  public PartitionReader createColumnarReader(InputPartition partition) {
    return new BatchReader(read, (Part) partition);
  }
}
