from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streamlets import Eat, SourceContext
from streamlets.ingress.sources import OpenSource, ParameterType, SourceOption, SourceTraits, SourceType


class NumbersSource(SourceType):
    """Numbers, for tests."""

    traits: ClassVar[SourceTraits] = SourceTraits(
        name="numbers",
        description="Numbers, for tests.",
        task="ten numbers",
        identity="the first one",
        guarantee="exactly-once",
        order="by number",
        options=(
            SourceOption(
                name="upto",
                description="the number after the last one",
                type=ParameterType.INTEGER,
                required=True,
            ),
        ),
        discovery={"triggerer": "immediate", "config": {}},
    )

    def open(self, options: Mapping[str, Any], context: SourceContext) -> OpenSource:
        return Numbers(options["upto"])


class Numbers(OpenSource):
    def __init__(self, upto: int) -> None:
        self._upto = upto

    def discover(self, eat: Eat, event: str) -> None:
        for first in range(0, self._upto, 10):
            eat({"first": first}, key=str(first))

    def read(self, task: Any) -> Iterator[dict[str, Any]]:
        for number in range(task["first"], min(task["first"] + 10, self._upto)):
            yield {"number": number}
