"""Rendering of a picture as JSON, for programs."""

from __future__ import annotations

import dataclasses
import json as _json

from blueprint.drawing.picture import Picture


def json(picture: Picture) -> str:
    """Return a picture as JSON: `name`, `nodes` (id, kind, name, detail, faulty) and `edges` (source, target, port,
    back)."""
    return _json.dumps(dataclasses.asdict(picture), indent=2, ensure_ascii=False)
