"""What a model of one's own is written with: `from joinproto.checking import World, check`.

A pasted trace, a notebook and a test use this module, too.  Nobody outside imports `models`
by that name: a program may have a `models` of its own.  If it is loaded already, importing
this module fails and says which; if it only lies in reach, a warning says that it is hidden
from now on.

The names are listed one by one, so that editors and type checkers know them; a test holds
the list equal to `models.__all__`.
"""

from joinproto.rooms import open_rooms

open_rooms(warn_of_hidden=True)

from models import (  # noqa: E402  importable only from here on
    DOWN,
    NOT_ENABLED,
    UNLIMITED,
    Broadcast,
    Faults,
    FifoLinks,
    Maybe,
    Message,
    MessageBag,
    MessageSet,
    ModelProblem,
    Offline,
    Persist,
    Property,
    Record,
    Replay,
    Report,
    Rule,
    Send,
    Step,
    Together,
    Trace,
    View,
    World,
    always,
    always_beside,
    always_each,
    always_monitor,
    always_pair,
    always_possible,
    any_of,
    check,
    eventually,
    load_world,
    no_deadlock,
    sometimes,
    sometimes_monitor,
    sometimes_one,
)

__all__ = [
    "DOWN",
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
    "any_of",
    "check",
    "eventually",
    "load_world",
    "no_deadlock",
    "sometimes",
    "sometimes_monitor",
    "sometimes_one",
]
