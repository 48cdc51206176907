"""`override`, which Python has from version 3.12 on. The package with it for earlier versions is slow to import."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import override
else:
    Method = TypeVar("Method", bound=Callable[..., Any])

    def override(method: Method) -> Method:
        """Mark a method that overrides one of a base class, whose documentation it shares. Type checkers verify it."""
        return method


__all__ = ["override"]
