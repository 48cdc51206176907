package streamlets.spark;

import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column without its first rows. */
final class ShiftedVector extends ColumnVector {
  private final ColumnVector column;
  private final int first;

  ShiftedVector(ColumnVector column, int first) {
    super(column.dataType());
    this.column = column;
    this.first = first;
  }

  public void close() {}

  public boolean hasNull() {
    return column.hasNull();
  }

  public int numNulls() {
    return column.numNulls();
  }

  public Decimal getDecimal(int row, int precision, int scale) {
    return column.getDecimal(first + row, precision, scale);
  }

  public ColumnVector getChild(int ordinal) {
    ColumnVector child = column.getChild(ordinal);
    return child == null ? null : new ShiftedVector(child, first);
  }

  public boolean isNullAt(int row) {
    return column.isNullAt(first + row);
  }

  public boolean getBoolean(int row) {
    return column.getBoolean(first + row);
  }

  public byte getByte(int row) {
    return column.getByte(first + row);
  }

  public short getShort(int row) {
    return column.getShort(first + row);
  }

  public int getInt(int row) {
    return column.getInt(first + row);
  }

  public long getLong(int row) {
    return column.getLong(first + row);
  }

  public float getFloat(int row) {
    return column.getFloat(first + row);
  }

  public double getDouble(int row) {
    return column.getDouble(first + row);
  }

  public ColumnarArray getArray(int row) {
    return column.getArray(first + row);
  }

  public ColumnarMap getMap(int row) {
    return column.getMap(first + row);
  }

  public UTF8String getUTF8String(int row) {
    return column.getUTF8String(first + row);
  }

  public byte[] getBinary(int row) {
    return column.getBinary(first + row);
  }
}
