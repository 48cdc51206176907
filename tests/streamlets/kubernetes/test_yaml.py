"""YAML with comments is read as the data that was written."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from streamlets.kubernetes.yaml import Node, Noted, plain, to_yaml

_TEXTS = st.one_of(
    st.text(),
    st.text("ab: #-|\n\t'\"{}[],&*!%@`?>=0123456789.eEonyx~/\\\r\u0085\u2028\ufeff"),
    st.lists(st.text("ab #"), min_size=1).map(lambda lines: "".join(f"{line}\n" for line in lines)),
)
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), _TEXTS)


def _noted(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(nodes, st.builds(Noted, nodes, st.just("flow.kubernetes.name")))


_NODES: st.SearchStrategy[Node] = st.recursive(
    _noted(_SCALARS),
    lambda nodes: _noted(
        st.one_of(
            st.dictionaries(_TEXTS, nodes),
            st.lists(st.one_of(_noted(_SCALARS), st.dictionaries(_TEXTS, nodes))),
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(_TEXTS, _NODES, min_size=1))
def test_what_is_written_is_read(node: dict[str, Node]) -> None:
    """Any data, with any texts and comments, is read by another parser as it was."""
    assert yaml.safe_load(to_yaml(node)) == plain(node)


def test_the_layout() -> None:
    """Comments are on the line of a single value and above other values; texts of several lines are blocks."""
    node: dict[str, Node] = {
        "name": Noted("shop", "flow.kubernetes.name"),
        "on": "on",
        "ports": Noted([{"port": Noted(1, "one"), "name": "a"}, {"env": Noted({"x": "1"}, "all")}], "both"),
        "args": ["run", Noted("--state-dir", "a volume"), "a: b"],
        "text": "a {\n\n  b = 1\n}\n",
        "none": {},
    }
    assert to_yaml(node) == (
        "name: shop  # flow.kubernetes.name\n"
        '"on": "on"\n'
        "# both\n"
        "ports:\n"
        "- port: 1  # one\n"
        "  name: a\n"
        "  # all\n"
        "- env:\n"
        '    x: "1"\n'
        "args:\n"
        "- run\n"
        "- --state-dir  # a volume\n"
        '- "a: b"\n'
        "text: |\n"
        "  a {\n"
        "\n"
        "    b = 1\n"
        "  }\n"
        "none: {}\n"
    )
