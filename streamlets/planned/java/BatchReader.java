package streamlets.spark;

import java.io.IOException;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;

/** Reads batches of columns. */
final class BatchReader extends StretchReader {
  private ColumnarBatch batch;

  BatchReader(Function1 read, Part part) {
    super(read, part);
  }

  public boolean next() throws IOException {
    if (!open()) {
      return false;
    }
    ColumnarBatch stored = (ColumnarBatch) following();
    while (skip >= stored.numRows()) {
      skip -= stored.numRows();
      stored = (ColumnarBatch) following();
    }
    int count = (int) Math.min(rest, stored.numRows() - skip);
    batch = skip == 0 && count == stored.numRows() ? stored : slice(stored, (int) skip, count);
    skip = 0;
    rest -= count;
    return true;
  }

  private static ColumnarBatch slice(ColumnarBatch batch, int first, int count) {
    ColumnVector[] columns = new ColumnVector[batch.numCols()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = first == 0 ? batch.column(i) : new ShiftedVector(batch.column(i), first);
    }
    return new ColumnarBatch(columns, count);
  }

  public Object get() {
    return batch;
  }
}
