package streamlets.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The scan of a planned stream: Spark's Parquet reader, for the columns of the stream. */
final class PlannedScan implements Scan, ScanBuilder {
  private final StructType schema;
  private final String source;

  PlannedScan(StructType schema, String source) {
    this.schema = schema;
    this.source = source;
  }

  public Scan build() {
    return this;
  }

  public StructType readSchema() {
    return schema;
  }

  public String description() {
    return "streamlets";
  }

  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    SparkSession session = (SparkSession) SparkSession.active();
    ParquetFileFormat format = new ParquetFileFormat();
    boolean columnar = format.supportBatch(session, schema);
    Map options = new HashMap();
    options.put("returning_batch", Boolean.toString(columnar));
    options.put("datetimeRebaseMode", "CORRECTED"); // no writer of a topic uses the old calendar
    options.put("int96RebaseMode", "CORRECTED");
    Function1 read =
        format.buildReaderWithPartitionValues(
            session,
            schema.asNullable(),
            new StructType(),
            schema.asNullable(),
            (Seq) (Object) Nil$.MODULE$,
            (scala.collection.immutable.Map) Map$.MODULE$.from(CollectionConverters.asScala(options)),
            session.sessionState().newHadoopConf());
    return new PlannedStream(PlannedSource.open(source), new FileReaderFactory(read, columnar));
  }
}
