package streamlets.spark;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The format of planned streams. Its option `source` is for the planner. */
public final class PlannedSource implements TableProvider {
  private static volatile Planners planners;

  /** Sets what opens the planners of this Java process. */
  public static void setPlanners(Planners opening) {
    planners = opening;
  }

  static Planner open(String source) {
    return planners.open(source);
  }

  public boolean supportsExternalMetadata() {
    return true;
  }

  public StructType inferSchema(CaseInsensitiveStringMap options) {
    throw new UnsupportedOperationException("a planned stream needs a schema");
  }

  public Table getTable(StructType schema, Transform[] partitioning, Map options) {
    return new PlannedTable(schema, (String) options.get("source"));
  }

  private static final class PlannedTable implements Table, SupportsRead {
    private final StructType schema;
    private final String source;

    PlannedTable(StructType schema, String source) {
      this.schema = schema;
      this.source = source;
    }

    public String name() {
      return "streamlets";
    }

    public StructType schema() {
      return schema;
    }

    public Set capabilities() {
      return Collections.singleton(TableCapability.MICRO_BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return new PlannedScan(schema, source);
    }
  }
}
