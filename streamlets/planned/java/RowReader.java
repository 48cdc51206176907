package streamlets.spark;

import java.io.IOException;
import scala.Function1;

/** Reads rows. */
final class RowReader extends StretchReader {
  private Object row;

  RowReader(Function1 read, Part part) {
    super(read, part);
  }

  public boolean next() throws IOException {
    if (!open()) {
      return false;
    }
    for (; skip > 0; skip--) {
      following();
    }
    row = following();
    rest--;
    return true;
  }

  public Object get() {
    return row;
  }
}
