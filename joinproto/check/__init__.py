"""Closed worlds, and the checker that searches them on one machine.

A world consists of members, a network, faults and properties, written in plain Python.  The folder
`engine` searches a world with arrays, and no other module here imports an array library.
`reference.py` does the same search slowly, in code whose correctness is easy to see.

Models import the names below: `from joinproto.check import World`.
"""

from joinproto.check.beginnings import any_of
from joinproto.check.catalogue import load_world
from joinproto.check.events import (
    NOT_ENABLED,
    Broadcast,
    Effect,
    Effects,
    Maybe,
    Message,
    Persist,
    Record,
    Rule,
    Send,
    WorldMember,
)
from joinproto.check.fairness import EACH_STEP, strong, weak
from joinproto.check.faults import UNLIMITED, Faults, links_cut
from joinproto.check.injected import Injected, disk_edited, disk_lost, inject, older_copy
from joinproto.check.linearizable import Call, Return, linearizable, register
from joinproto.check.local import Offline
from joinproto.check.network import FifoLinks, MessageBag, MessageSet
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import (
    Property,
    StepView,
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
from joinproto.check.replay import Replay
from joinproto.check.report import Report, Step, Trace
from joinproto.check.small_first import check
from joinproto.check.view import DOWN, View
from joinproto.check.world import Together, World

__all__ = [
    "DOWN",
    "EACH_STEP",
    "NOT_ENABLED",
    "UNLIMITED",
    "Broadcast",
    "Call",
    "Effect",
    "Effects",
    "Faults",
    "FifoLinks",
    "Injected",
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
    "Return",
    "Rule",
    "Send",
    "Step",
    "StepView",
    "Together",
    "Trace",
    "View",
    "World",
    "WorldMember",
    "always",
    "always_beside",
    "always_each",
    "always_monitor",
    "always_pair",
    "always_possible",
    "always_step",
    "any_of",
    "check",
    "disk_edited",
    "disk_lost",
    "eventually",
    "eventually_always",
    "implements",
    "infinitely_often",
    "inject",
    "leads_to",
    "linearizable",
    "links_cut",
    "load_world",
    "no_deadlock",
    "older_copy",
    "register",
    "sometimes",
    "sometimes_monitor",
    "sometimes_one",
    "strong",
    "until",
    "weak",
]
