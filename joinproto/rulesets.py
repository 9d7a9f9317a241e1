"""All sets of rules, by name."""

from collections.abc import Mapping

from joinproto.join.rules import CHAIN_RULES
from joinproto.machine.verdict import RuleSet
from joinproto.reference.note.rules import note_rules
from joinproto.reference.qpid.rules import QPID_RULES

RULESETS: Mapping[str, RuleSet] = {"note": note_rules(), "qpid": QPID_RULES, "chain": CHAIN_RULES}
