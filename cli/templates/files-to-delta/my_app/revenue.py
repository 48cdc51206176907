"""The processor: revenue by day and product."""

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, DurationParameter, SparkStreamlet, SparkStreamletLogic


class Revenue(SparkStreamlet):
    """Adds up the orders of each day and product; a day is written when no more orders of it are expected."""

    orders = AvroInlet(schema="../schemas/Order.avsc")
    revenue = AvroOutlet(schema="../schemas/Revenue.avsc")
    lateness = DurationParameter("How much later than others an order may arrive", default="1 day")

    class Logic(SparkStreamletLogic["Revenue"]):
        def build_streaming_queries(self):
            me = self.streamlet
            revenue = F.sum(F.col("quantity") * F.col("price")).cast("decimal(18,2)")
            days = (
                self.read_stream(me.orders)
                .withWatermark("at", self.value(me.lateness).sql)
                .groupBy(F.window("at", "1 day"), "product")
                .agg(F.count("*").alias("orders"), revenue.alias("revenue"))
            )
            return self.write_stream(days.withColumn("day", F.to_date("window.start")).drop("window"), me.revenue)
