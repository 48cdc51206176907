"""What the version that ran last has changed, as `flow verify --against` compares it with the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blueprint.comparison import DescriptorError, worst
from blueprint.quantities import with_singulars
from cli.ui.answers.commands import CommandError
from streamlets.runner.deployment import described, last_change

if TYPE_CHECKING:
    from blueprint.comparison import Change
    from cli.ui.served import Served


def changes(served: Served) -> dict[str, Any]:
    """Return the changes of the last version, the strongest first; {} if there was only one version.

    Raises:
        DescriptorError, OSError, UnicodeDecodeError: the descriptor of the last run cannot be read.
        CommandError: the one before cannot be read.
    """
    described(served.state)
    try:
        found = last_change(served.state)
    except (DescriptorError, UnicodeDecodeError) as error:
        file = served.state.previous_descriptor_file
        raise CommandError(f"{file} cannot be read: {error}; the next other version writes it again") from error
    if found is None:
        return {}
    return {
        "since": found.since,
        "before": str(served.state.previous_descriptor_file),
        "needs": worst(found.changes).words,
        "changes": [_change(change) for change in found.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "code": change.code, "class": change.needs.value, "needs": change.needs.words,
        "headline": with_singulars(change.headline), "queries": list(change.queries),
        "causes": [with_singulars(cause) for cause in change.causes],
    }  # fmt: skip
