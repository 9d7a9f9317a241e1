"""The answers of `joinproto ask clusterer.*`.

Source: Clusterer, U1 to U7.
"""

from __future__ import annotations

from joinproto.clusterer.ask_config import CONFIG_QUESTIONS
from joinproto.clusterer.ask_nodes import NODE_QUESTIONS
from joinproto.clusterer.ask_waiting import WAITING_QUESTIONS

QUESTIONS = (*CONFIG_QUESTIONS, *NODE_QUESTIONS, *WAITING_QUESTIONS)
