"""Text that UTF-8 cannot represent: lone surrogates, which stand for bytes that could not be decoded, or halves of
characters in JSON."""

from __future__ import annotations


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can represent a text."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def escaped(text: str) -> str:
    r"""Return a text for messages, whose lone surrogates are escaped, such as `\udc8b`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
