"""Records of one store, in the order in which a member might write them."""

from attrs import evolve

from joinproto.join.store import Accepted, Ballot, StoreRecord
from tests.join.pictures import lineage, position, views

CLOSED = "F C1:ab@F.5 X@C1.6"


def life() -> tuple[StoreRecord, ...]:
    """Return nine records: an empty one, a founding, a promise, an orderly end, and a mark."""
    drawn = views(CLOSED)
    ballot = Ballot(2, "b'")
    empty = StoreRecord(store_id="a'")
    voted = evolve(empty, promised=ballot, accepted=Accepted(ballot, drawn["F"]))
    founded = voted.learn(lineage("F"))
    ready = evolve(founded, held=drawn["F"].id)
    running = evolve(ready, position=position("F.5", CLOSED))
    promised = evolve(running, promised=Ballot(7, "c'"))
    changed = promised.learn(lineage("F C1:ab@F.5"))
    closed = evolve(changed, position=position("C1.6", CLOSED)).learn(lineage(CLOSED))
    return empty, voted, founded, ready, running, promised, changed, closed, _marked(running)


def _marked(record: StoreRecord) -> StoreRecord:
    return evolve(record, mark=record.lineage.views[-1].id)
