"""The order of the pages on the site. Other pages of `docs/` are the last guides."""

from __future__ import annotations

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Tutorial": ("docs/tutorial.md",),
    "How-to guides": (
        "docs/streamlets.md",
        "docs/save-stream.md",
        "docs/ingress.md",
        "docs/sources.md",
        "docs/without-code.md",
        "docs/spouts.md",
        "docs/batch-sources.md",
        "docs/sinks.md",
        "docs/guarantees.md",
        "docs/running.md",
        "docs/page.md",
        "docs/metrics.md",
        "docs/traces.md",
        "docs/upgrades.md",
        "docs/topics.md",
        "docs/fusion.md",
        "docs/exporting.md",
        "docs/backfills.md",
        "docs/resources.md",
        "docs/checkpoints.md",
        "docs/state-directory.md",
        "docs/kafka.md",
        "docs/kafka-clusters.md",
        "docs/kafka-operations.md",
        "docs/moving-to-kafka.md",
        "docs/channels.md",
        "docs/kafka-jars.md",
        "docs/isolation.md",
        "docs/spark-clusters.md",
        "docs/kubernetes.md",
        "docs/graph.md",
        "docs/lineage.md",
        "docs/editors.md",
        "docs/doctor.md",
        "docs/*.md",
    ),
    "Examples": ("examples/*/README.md",),
    "Reference": (
        "reference/*.md",
        "docs/exit-codes.md",
        "docs/stability.md",
        "docs/avro-types.md",
        "docs/diagnostics.md",
        "docs/diagnostics-json.md",
        "docs/status-json.md",
        "CHANGELOG.md",
    ),
    "Explanation": (
        "docs/comparison.md",
        "docs/supervision.md",
        "docs/ports.md",
        "docs/replicas.md",
        "docs/from-pypz.md",
        "docs/architecture.md",
        "docs/decisions/README.md",
        "benchmarks/*.md",
        "CONTRIBUTING.md",
    ),
}
"""The pages of each section in order, as paths of the site.

A pattern stands for its matches that are not named elsewhere.
"""

APART = ("docs/diagnostics/*.md", "docs/decisions/[0-9]*.md")
"""Pages of which there are many, and which answer one question each.

They are neither in the navigation nor in the search of the site. The pages about all findings and all decisions lead
to them, and have the words that a reader searches for.
"""
