"""The objects of a text that an editor changes, so that the next parse reads only the changed ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from blueprint.hocon.tree import ListNode, Node, ObjectNode, ScalarNode

_MOST_OUTDATED = 4
"""The largest number of kept objects per object of a text; objects of its earlier versions are among them."""


class Place(NamedTuple):
    """The opening brace of an object, and what else its content is read by.

    Arguments:
        line: from 1.
        column: from 1.
        indent: the indentation of the line.
        depth: the nesting level of the object.
    """

    line: int
    column: int
    indent: int
    depth: int


class Blocks:
    """The objects of one file that were read without a finding, by place.

    An object with the same text at the same place has the same spans: it is reused, together with its resolved value.
    An object whose value depends on other parts of the text is not kept.
    """

    def __init__(self) -> None:
        """Create an empty store."""
        self._blocks: dict[Place, tuple[str, ObjectNode]] = {}

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._blocks)

    def find(self, place: Place, text: str, at: int) -> tuple[ObjectNode, int] | None:
        """Return the object that begins at a place, and the offset after it; None if it has to be read.

        Arguments:
            place: of the object.
            text: the whole text.
            at: the offset of the opening brace.
        """
        own, node = self._blocks.get(place, ("", None))
        if node is None or not text.startswith(own, at):
            return None
        node.reused = True
        return node, at + len(own)

    def keep(self, place: Place, text: str, node: ObjectNode) -> None:
        """Keep an object that was read without a finding.

        Arguments:
            place: of the object.
            text: from the opening to the closing brace.
            node: the object.
        """
        if "include" not in text and _is_self_contained(node):
            node.share()
            self._blocks[place] = text, node

    def limit(self, text: str) -> None:
        """Forget everything if there is much more than a text can have; the next parse reads the whole text."""
        if len(self._blocks) > _MOST_OUTDATED * (text.count("{") + 1):
            self._blocks = {}


def _is_self_contained(node: Node) -> bool:
    """Return whether a node has neither substitutions nor concatenations: its value is constant, without a finding."""
    match node:
        case ScalarNode():
            return True
        case ListNode(items=items):
            return all(map(_is_self_contained, items))
        case ObjectNode(shared=True):
            return True
        case ObjectNode(fields=fields):
            return all(
                _is_self_contained(definition.node) for definitions in fields.values() for definition in definitions
            )
        case _:
            return False


class EditedTexts(dict[Path, str]):
    """The texts of files that an editor changes, by resolved path, with the objects that were read from them.

    The next version of the texts is given the same `blocks`.

    Attributes:
        blocks: by resolved path.
    """

    def __init__(self, texts: Mapping[Path, str], blocks: dict[Path, Blocks]) -> None:
        """Create the texts.

        Arguments:
            texts: by resolved path.
            blocks: the objects of the previous version; an empty dict for the first one.
        """
        super().__init__(texts)
        self.blocks = blocks
