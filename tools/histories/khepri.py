"""Histories of quorum queues on RabbitMQ with its metadata in Khepri: see `quorum.py`.

RabbitMQ 4.3 has its metadata always in Khepri; 4.0 moves it there once a feature flag is enabled.
"""

from __future__ import annotations

from functools import partial

from tools.histories.quorum import KINDS, end, follow
from tools.histories.quorum import draw as _draw

__all__ = ("KINDS", "draw", "end", "follow")

draw = partial(_draw, khepri=True)
