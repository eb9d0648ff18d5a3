"""Messages of the library in the logger ``rill``."""

from __future__ import annotations

import logging

LOG = logging.getLogger("rill")


def log(level: int, message: str) -> None:
    """Log a message at a level of the library: 1 warns, 2 informs."""
    LOG.log(logging.WARNING if level == 1 else logging.INFO, "%s", message)
