"""Ways into an application that Spark lacks: spouts, and batch sources with what wakes them."""
