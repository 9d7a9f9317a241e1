"""Where the tasks of an owner run: on the host whose cache holds the owner's files.

An executor caches files of an object store.  If Spark placed tasks freely, an owner's next task
would often run on another host, which would first have to fetch all files of the owner.

Spark prefers the host that holds a partition in memory, but Python cannot say that two RDDs belong
together.  So an empty RDD with one partition for each owner is kept in memory, and an exchange is
merged with it.  Both have the same partitioner, and Spark (`PartitionerAwareUnionRDD`) then
prefers, for each owner, the host that most of the merged partitions name.  The partition of the
exchange names the host that sent most of its rows, so the empty partition is merged twice.  If the
preferred host is busy or gone, the task runs elsewhere, and fetches the files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field


@define
class Homes:
    """The hosts of `owners` shares.  `partition`: the partition function of all exchanges."""

    context: Any
    owners: int
    partition: Callable[[int], int]
    _kept: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        empty = self.context.parallelize([], self.owners).partitionBy(self.owners, self.partition)
        self._kept = _shuffled(empty)
        self._kept.cache()

    def prefer(self, exchanged: Any) -> Any:
        """Return the result of `partitionBy(owners, partition)` with preferred hosts."""
        from pyspark.core.rdd import RDD  # imported here, because only clusters need it

        jvm, context = self.context._jvm, self.context
        pairs = jvm.org.apache.spark.api.java.JavaPairRDD
        merged = (_shuffled(exchanged), self._kept, self._kept)
        parts = context._gateway.new_array(pairs, len(merged))
        tag = jvm.scala.reflect.ClassTag.Object()
        for at, one in enumerate(merged):
            parts[at] = pairs.fromRDD(one, tag, tag)
        values = jvm.PythonRDD.valueOfPair(context._jsc.union(parts))
        return RDD(values, context, exchanged._jrdd_deserializer)


def _shuffled(exchanged: Any) -> Any:
    """Return the JVM's RDD of keys and values; PySpark's own RDD has only the values."""
    return exchanged._jrdd.rdd().dependencies().head().rdd()
