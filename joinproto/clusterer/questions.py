"""What `joinproto ask clusterer.*` answers.

Source: Clusterer, U1 to U7.
"""

from __future__ import annotations

from joinproto.clusterer.ask_config import CONFIG_QUESTIONS

QUESTIONS = (*CONFIG_QUESTIONS,)
