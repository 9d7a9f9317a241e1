"""Histories of quorum queues on RabbitMQ with its metadata in Khepri: see `quorum.py`.

From RabbitMQ 4.3 on they are always there; 4.0 moves them once its feature flag is enabled.
"""

from __future__ import annotations

from functools import partial

from tools.histories.quorum import KINDS, end, follow
from tools.histories.quorum import draw as _draw

__all__ = ("KINDS", "draw", "end", "follow")

draw = partial(_draw, khepri=True)
