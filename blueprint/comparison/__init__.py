"""Descriptors of applications in files, and the changes between two of them, each with what it requires."""

from blueprint.comparison.changes import Change, ChangeClass, worst
from blueprint.comparison.codec import DescriptorError
from blueprint.comparison.compare import compare
from blueprint.comparison.describing import describe_plan
from blueprint.comparison.descriptor import (
    ApplicationDescriptor,
    DescribedInlet,
    DescribedLogic,
    DescribedOperator,
    DescribedOutlet,
    DescribedQuery,
    DescribedStore,
    DescribedStreamlet,
    DescribedTopic,
)
from blueprint.comparison.format import Described, read_descriptor, to_json

__all__ = [
    "ApplicationDescriptor",
    "Change",
    "ChangeClass",
    "Described",
    "DescribedInlet",
    "DescribedLogic",
    "DescribedOperator",
    "DescribedOutlet",
    "DescribedQuery",
    "DescribedStore",
    "DescribedStreamlet",
    "DescribedTopic",
    "DescriptorError",
    "compare",
    "describe_plan",
    "read_descriptor",
    "to_json",
    "worst",
]
