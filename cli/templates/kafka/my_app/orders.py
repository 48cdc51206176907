"""The ingress: orders from files with one JSON object per line."""

from pyspark.sql import functions as F

from streamlets import AvroOutlet, PathParameter, SparkStreamlet, SparkStreamletLogic


class Orders(SparkStreamlet):
    """Reads the files of a directory, also those that arrive while it runs."""

    orders = AvroOutlet(schema="../schemas/Order.avsc", partition_by="product", on_invalid="dead-letters")
    directory = PathParameter("The directory of the files", kind="directory", must_exist=True)

    class Logic(SparkStreamletLogic["Orders"]):
        def build_streaming_queries(self):
            me = self.streamlet
            files = self.source(
                "files",
                format="json",
                schema="id long, product string, quantity int, price double",
                options={"path": str(self.value(me.directory))},
            )
            return self.write_stream(files.withColumn("product", F.lower("product")), me.orders)
