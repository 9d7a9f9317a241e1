"""Closed worlds, and the checker that searches them on one machine.

A world is members, a network, faults and properties, written in plain Python; everything in
this folder but `engine` says what a world means and imports no array library.  `engine`
searches it at array speed, `reference` slowly and obviously.

These names are what a model of one's own is written with, as `joinproto.checking`.
"""

from models.beginnings import any_of
from models.catalogue import load_world
from models.check import check
from models.events import NOT_ENABLED, Broadcast, Maybe, Message, Persist, Record, Rule, Send
from models.fairness import EACH_STEP, strong, weak
from models.faults import UNLIMITED, Faults
from models.local import Offline
from models.network import FifoLinks, MessageBag, MessageSet
from models.problems import ModelProblem
from models.properties import (
    Property,
    Taken,
    always,
    always_beside,
    always_each,
    always_monitor,
    always_pair,
    always_possible,
    always_step,
    eventually,
    eventually_always,
    implements,
    infinitely_often,
    leads_to,
    no_deadlock,
    sometimes,
    sometimes_monitor,
    sometimes_one,
    until,
)
from models.replay import Replay
from models.report import Report, Step, Trace
from models.view import DOWN, View
from models.world import Together, World

__all__ = [
    "DOWN",
    "EACH_STEP",
    "NOT_ENABLED",
    "UNLIMITED",
    "Broadcast",
    "Faults",
    "FifoLinks",
    "Maybe",
    "Message",
    "MessageBag",
    "MessageSet",
    "ModelProblem",
    "Offline",
    "Persist",
    "Property",
    "Record",
    "Replay",
    "Report",
    "Rule",
    "Send",
    "Step",
    "Taken",
    "Together",
    "Trace",
    "View",
    "World",
    "always",
    "always_beside",
    "always_each",
    "always_monitor",
    "always_pair",
    "always_possible",
    "always_step",
    "any_of",
    "check",
    "eventually",
    "eventually_always",
    "implements",
    "infinitely_often",
    "leads_to",
    "load_world",
    "no_deadlock",
    "sometimes",
    "sometimes_monitor",
    "sometimes_one",
    "strong",
    "until",
    "weak",
]
