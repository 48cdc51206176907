"""The pytest plugin, in test runs of their own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path


def test_the_plugin_is_registered() -> None:
    """pytest loads it by an entry point."""
    (plugin,) = entry_points(group="pytest11", name="streamlets")
    assert plugin.value == "_streamlets_pytest"


def test_other_tests_import_nothing_of_the_framework(tmp_path: Path) -> None:
    """A test run without a fixture of the plugin does not wait for imports; its own fixtures override them."""
    (tmp_path / "test_other.py").write_text(
        "import sys\nimport pytest\n\n"
        "@pytest.fixture\ndef kit():\n    return 'own'\n\n"
        "def test_nothing_is_imported(kit):\n"
        "    assert kit == 'own'\n"
        "    assert '_streamlets_pytest' in sys.modules\n"
        "    assert not {'streamlets', 'blueprint', 'pyspark', 'yaml'} & set(sys.modules)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
