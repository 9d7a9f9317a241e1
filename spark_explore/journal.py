"""The data with which a run continues after its driver died.

    state.json        the run's identity and progress, and the names of every owner's files; written
                      last, so that all files it names exist; other files are garbage
    world-N-....bin   the values that the numbers stand for, tables and counters, as of job N
    levels/, runs/    the files of each owner, see `spark_explore/storage.py`

The driver writes its state between jobs, and removes no file that the last written state needs.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from typing import Any

import attrs
import numpy as np
from attrs import define, field

from joinproto import __version__
from joinproto.check.engine.checkpoint import differences, numbered, packed, take_back
from joinproto.check.engine.claims.found import Hit
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.search import Search
from joinproto.check.engine.tables.kept_values import Names, read
from joinproto.check.engine.tables.search_code import code_of, names_of
from joinproto.check.report import Growth
from joinproto.errors import EnvironmentProblem, UsageProblem
from spark_explore.frontier import Frontier
from spark_explore.places import Place
from spark_explore.session import full_disk, is_full
from spark_explore.storage import Storage, share_of

FORMAT = 6


@define
class Journal:
    """Writes and reads the state of one run.

    `out`: the place that the user named; None if the run cannot be resumed.  `identity`: the facts
    that identify the run.
    """

    storage: Storage
    out: Place | None
    identity: dict[str, Any]
    _kept: float = field(init=False, factory=time.monotonic)
    _took: float = field(init=False, default=0.0)
    _names: Names | None = field(init=False, default=None)

    def keep_sometimes(self, frontier: Frontier) -> None:
        """Write the state, unless that would take more than a twentieth of the time."""
        if time.monotonic() - self._kept >= max(1.0, 20 * self._took):
            self.keep(frontier)

    def keep(self, frontier: Frontier) -> None:
        """Write the state if there is `out`; remove unneeded files.  No job may be running."""
        began = time.monotonic()
        if self.out is not None:
            self._note(frontier)
        frontier.forget()
        self._kept = time.monotonic()
        self._took = self._kept - began

    def _note(self, frontier: Frontier) -> None:
        place, verdicts = frontier.storage.place, frontier.verdicts
        state = {
            "format": FORMAT,
            "version": __version__,
            "run": self.identity,
            "code": code_of(frontier.search.tables),
            "numbers": f"world-{frontier.job}-{secrets.token_hex(4)}.bin",
            "owners": frontier.owners,
            "job": frontier.job,
            "shares": [attrs.asdict(share) for share in frontier.shares],
            "epoch": frontier.epoch,
            "wide": frontier.wide,
            "levels": frontier.levels,
            "generated": frontier.generated,
            "outcomes": frontier.outcomes,
            "numbered": sorted(frontier.numbered.items()),
            "counts": frontier.counts,
            "flags_any": verdicts.flags_any,
            "hits": [(h.claim.property.name, h.level, h.rows.tolist()) for h in verdicts.hits],
            "growth": [attrs.asdict(item) for item in frontier.growth],
            "done": frontier.done,
            "violated": verdicts.violated,
            "unmapped": verdicts.unmapped,
        }
        try:
            self._names = self._names or names_of(frontier.search.tables)
            place.write(str(state["numbers"]), _written(frontier, self._names), sync=True)
            place.write("state.json", (json.dumps(state) + "\n").encode(), sync=True)
            # Unfinished files of a killed run are removed, too.
            left = [name for name in place.names() if re.match(r"world-.*\.bin$|\..*-", name)]
            place.remove(name for name in left if name != state["numbers"])
        except OSError as error:
            if is_full(error):
                raise full_disk(f"{place}") from error
            raise EnvironmentProblem(
                f"cannot write to {place}: {error.strerror or error}",
                next="--resume continues from the last level that was written",
            ) from error

    def keep_growth(self, frontier: Frontier) -> None:
        """Write the cost of each level for the page of the run."""
        levels = [attrs.asdict(item) for item in frontier.growth]
        text = json.dumps({"levels": levels}, indent=1)
        frontier.storage.place.write("growth.json", text.encode())

    def has_begun(self) -> bool:
        """Return whether there is a state to continue from.

        False for a run that died before it wrote a state, and so must begin again.  Raises
        `UsageProblem` if `out` has neither a state nor such a run.
        """
        assert self.out is not None
        if "state.json" in self.storage.place.names():
            return True
        try:
            run = json.loads(self.out.read("run.json"))
        except (FileNotFoundError, ValueError):
            run = None
        if run != json.loads(json.dumps(self.identity)):
            raise UsageProblem(
                f"{self.out} has no search that can be resumed",
                next="leave out --resume to start a new search",
            )
        return False

    # -- continuing ------------------------------------------------------------------------

    def restore(self, search: Search, host: str) -> Frontier:
        """Return the frontier of the last written state; `search`: a new one of the same world."""
        state = self._state(search)
        self._names = names_of(search.tables)
        content = _content(self.storage.place, state["numbers"], self._names)
        _put_back(search, content)
        claims = {claim.property.name: claim for claim in search.judge.claims}
        frontier = Frontier(
            search=search,
            storage=self.storage,
            owners=state["owners"],
            # A new name, so that caches of executors of the former run are not used.
            run=f"{state['job']}-{time.time_ns()}",
            host=host,
            shares=[share_of(share) for share in state["shares"]],
            job=state["job"],
            epoch=state["epoch"],
            wide=state["wide"],
            levels=state["levels"],
            generated=state["generated"],
            outcomes=state["outcomes"],
            numbered=dict(state["numbered"]),
            counts=state["counts"],
            growth=[Growth(**item) for item in state["growth"]],
            done=state["done"],
        )
        verdicts = frontier.verdicts
        verdicts.hits = [
            Hit(claims[name], level, np.array(at, np.int64)) for name, level, at in state["hits"]
        ]
        verdicts.targets, verdicts.flags_any = content["targets"], state["flags_any"]
        verdicts.violated, verdicts.unmapped = state["violated"], state["unmapped"]
        return frontier

    def _state(self, search: Search) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.storage.place.read("state.json"))
        if state.get("format") != FORMAT:
            raise UsageProblem(
                f"{self.out} has format {state.get('format')}; this version reads format {FORMAT}",
                next=f"resume it with joinproto {state.get('version')}, or start a new search",
            )
        here = {"version": __version__, "run": self.identity, "code": code_of(search.tables)}
        here = json.loads(json.dumps(here))
        differs = [name for name in here if here[name] != state[name]]
        if differs:
            told = differences(*({**of["run"], "version": of["version"]} for of in (state, here)))
            if "code" in differs:
                told.append("the model's source has changed since then")
            raise UsageProblem(
                f"{self.out} holds another run: {'; '.join(told)}",
                next="repeat the options that it was started with, or use another folder",
            )
        return state


# -- values and tables -----------------------------------------------------------------


def _written(frontier: Frontier, names: Names) -> bytes:
    search = frontier.search
    first = np.array(search.rows()[: search.begins])
    content = {**numbered(search), "first": first, "targets": frontier.verdicts.targets}
    return packed(content, names, without="--out")


def _content(place: Place, name: str, names: Names) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read(place.read(name), names)
    except Exception as error:
        raise UsageProblem(
            f"{place}/{name} cannot be read: {error}", next="start a new search in another folder"
        ) from error
    return found


def _put_back(search: Search, content: dict[str, Any]) -> None:
    # As after a handover, the driver holds only numbers and the first states.
    search.budget.lift()
    take_back(search, content, kept="run", next="start a new search in another folder")
    search.states = RowSet(search.tables.layout.words, search.budget, room=1)
    search.begins = len(content["first"])
    search.states.insert(content["first"], search.begins)
