"""The memory of a runner with many streamlets."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from blueprint.plan import ApplicationPlan

_MANY = 50
"""The number of streamlets from which on memory counts more than a fifth of the speed of Arrow's batches."""

_POOL = "ARROW_DEFAULT_MEMORY_POOL"
"""The variable with which Arrow chooses its allocator when it is imported: https://arrow.apache.org/docs/cpp/memory.html"""


def share_memory(plan: ApplicationPlan, variables: MutableMapping[str, str] = os.environ) -> None:
    """Let the threads of many streamlets share the memory of Arrow, which otherwise keeps up to a MiB for each of them.

    Without effect once Arrow is imported, and if the user has chosen an allocator.

    Arguments:
        plan: the application.
        variables: the environment variables of this process.
    """
    if len(plan.streamlets) > _MANY:
        variables.setdefault(_POOL, "system")
