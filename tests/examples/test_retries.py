"""The example of a cycle that stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.testkit import Testkit

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "retries"


@pytest.mark.spark
def test_a_payment_leaves_after_its_fifth_attempt(kit: Testkit) -> None:
    """`retry` counts the attempts; the sixth would not satisfy the condition of the cycle, so it leaves."""
    app = kit.application(EXAMPLE / "blueprint.conf")
    app.topic("declined").put([{"id": n, "amount": 9.5, "attempt": n} for n in (1, 4, 5, 6)])
    app.streamlet("retry").step()
    assert sorted(row["attempt"] for row in app.topic("payments").all()) == [2, 5]
    assert sorted(row["attempt"] for row in app.topic("given-up").all()) == [6, 7]


@pytest.mark.full
@pytest.mark.spark
def test_each_payment_is_charged_or_given_up(kit: Testkit) -> None:
    """Payment n needs n % 7 + 1 attempts, and has five; each leaves the cycle once, and no batch exceeds the limit."""
    app = kit.application(EXAMPLE / "blueprint.conf", arguments=("flow.streamlets.payments.parameters.count=10",))
    app.spout("payments").step()
    for _ in range(6):
        steps = app.step()
    assert steps["charge"].rows_in == 0, "nothing circulates any more"
    charged = {row["id"]: row["attempt"] for row in app.topic("charged").all()}
    assert charged == {n: n % 7 + 1 for n in range(10) if n % 7 < 5}
    assert sorted((row["id"], row["attempt"]) for row in app.topic("given-up").all()) == [(5, 6), (6, 6)]
    assert len(app.topic("payments").all()) == 10 + 8 + 6 + 4 + 3, "the fifth attempt is the last one"
