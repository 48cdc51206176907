"""Retry settings under PSTL's names: which exist, how values are written, and which wins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint.core_settings import Retry
from blueprint.hocon import ObjectValue, parse_text, resolve
from blueprint.quantities import Duration
from blueprint.settings.retry import SETTINGS, RetryOptionError, is_option, option
from blueprint.settings.values import streamlet_settings

UNITS = {
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}


def settings(text: str) -> ObjectValue:
    """Return the `flow` section of a text."""
    tree, _ = resolve([parse_text(text, "t")], {})
    return tree


@given(number=st.integers(0, 10**4), unit=st.sampled_from(sorted(UNITS)), key=st.sampled_from(["min", "max", "stable"]))
def test_every_unit_of_pstl_is_read(number: int, unit: str, key: str) -> None:
    """A number and one of PSTL's seven units, without a space, is a duration."""
    name = {"min": "min.backoff", "max": "max.backoff", "stable": "stable.period"}[key]
    length = Duration(number * UNITS[unit])
    if key != "stable" and length < Duration(10 * 10**6):
        with pytest.raises(RetryOptionError, match="must be a duration of 10 ms or more"):
            option(f"pstl.retry.{name}", f"{number}{unit}")
    else:
        assert option(f"pstl.retry.{name}", f"{number}{unit}") == (name.replace(".", "_"), length)


def test_all_options_are_read_with_dots_and_with_dashes() -> None:
    """Each field of `Retry` has its option, under both spellings, in any case."""
    texts = {"enabled": "false", "max_attempts": "3", "min_backoff": "2s", "max_backoff": "1 minute",
             "random_factor": "0.2", "stable_period": "10s"}  # fmt: skip
    values = {"enabled": False, "max_attempts": 3, "min_backoff": Duration(2 * 10**9),
              "max_backoff": Duration(60 * 10**9), "random_factor": 0.2, "stable_period": Duration(10**10)}  # fmt: skip
    assert {field for field, _ in SETTINGS.values()} == set(texts)
    for field, text in texts.items():
        for spelt in (field.replace("_", "-"), field.replace("_", "."), field.replace("_", "-").upper()):
            assert option(f"pstl.retry.{spelt}", text) == (field, values[field])
    assert is_option("PSTL.retry.Enabled")
    assert not is_option("retry.enabled")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("min.backoff", "5"), ("min.backoff", "-1s"), ("min.backoff", "5 parsecs"), ("min.backoff", ""),
        ("min.backoff", "0s"),
        ("max.backoff", "9ms"), ("max.attempts", "2147483648"), ("max.attempts", "-1"),
        ("max.attempts", "1.5"), ("random.factor", "-0.1"), ("random.factor", "nan"),
        ("random.factor", "inf"), ("enabled", "perhaps"),
    ],
)  # fmt: skip
def test_invalid_values_are_rejected(name: str, text: str) -> None:
    """A number without a unit, a negative one, an unknown unit, nothing: the message says what is expected."""
    with pytest.raises(RetryOptionError, match=rf"^`pstl.retry.{name}` must be .+, found `{text}`( without a unit)?$"):
        option(f"pstl.retry.{name}", text)


def test_an_unknown_option_has_a_suggestion() -> None:
    """The error for a misspelt option names the option that was meant."""
    with pytest.raises(RetryOptionError) as caught:
        option("pstl.retry.max.atempts", "3")
    assert (caught.value.unknown, caught.value.help) == (True, ("did you mean `pstl.retry.max.attempts`?",))


def test_precedence() -> None:
    """Our names win over PSTL's, a streamlet over the application; only our names win over the options of a query."""
    flow = settings(
        """
        runtimes.spark { pstl.retry { min.backoff = 10s, max.attempts = 1, random.factor = 0.1, stable-period = 1s } }
        retry { max-attempts = 2, random-factor = 0.2 }
        streamlets.a { spark.pstl.retry.min.backoff = 20s, retry.random-factor = 0.3 }
        streamlets.b.spark.spark.pstl.retry.max-attempts = 9
        """
    )
    a, b = streamlet_settings(flow, "a"), streamlet_settings(flow, "b")
    second = 10**9
    assert a.retry == Retry(True, 2, Duration(20 * second), random_factor=0.3, stable_period=Duration(second))
    assert b.retry == Retry(True, 2, Duration(10 * second), random_factor=0.2, stable_period=Duration(second))
    assert a.retry_set == b.retry_set == {"max_attempts", "random_factor"}
