"""What a run needs to go on after its driver died: where it stands, and every number's meaning.

    state.json    what run this is, and how far it is; written last, so it is never ahead
    world-N.bin   values behind the numbers, tables, counters, as of job N
    owners/, levels/, runs/   what each owner had then: see `spark_explore/storage.py`

The driver notes its state between jobs, and removes nothing that the last note needs.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from attrs import define, field

from joinproto import __version__
from joinproto.check import packages
from joinproto.check.engine.claims.found import Hit
from joinproto.check.engine.claims.judge import Judge
from joinproto.check.engine.expansion.expander import Expander
from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.search import Search
from joinproto.check.engine.tables.kept_values import CannotKeep, Names, read, written
from joinproto.check.engine.tables.numbering import TablesNumbering
from joinproto.check.packages import is_model_code
from joinproto.check.problems import ModelProblem
from joinproto.check.sources import sources_of
from joinproto.errors import EnvironmentProblem, UsageProblem
from spark_explore.frontier import Frontier, Growth
from spark_explore.session import full_disk, is_full
from spark_explore.storage import KINDS, Storage

FORMAT = 4

SAMPLES = 1_000
"""So many answers of each kind and member are asked for again when a run goes on."""


@define
class Journal:
    """The notes of one run.

    `identity`: what makes it this run and no other; None: nobody will go on with it.
    """

    folder: Path
    identity: dict[str, Any] | None
    _kept: float = field(init=False, factory=time.monotonic)
    _took: float = field(init=False, default=0.0)
    _names: Names | None = field(init=False, default=None)

    def keep_sometimes(self, frontier: Frontier) -> None:
        """Note the state, but do not spend more than a twentieth of the time on it."""
        if time.monotonic() - self._kept >= max(1.0, 20 * self._took):
            self.keep(frontier)

    def keep(self, frontier: Frontier) -> None:
        """Note where the run stands, and remove what is not needed; no job may be running."""
        began = time.monotonic()
        if self.identity is not None:
            self._note(frontier)
        frontier.forget()
        self._kept = time.monotonic()
        self._took = self._kept - began

    def _note(self, frontier: Frontier) -> None:
        storage, job, verdicts = frontier.storage, frontier.job, frontier.verdicts
        state = {
            "format": FORMAT,
            "version": __version__,
            "run": self.identity,
            "code": code_of(frontier.search),
            "numbers": f"world-{job}.bin",
            "owners": frontier.owners,
            "job": frontier.job,
            "job_of_last": frontier.job_of_last,
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
            self._names = self._names or _names(frontier.search)
            storage.write(f"world-{job}.bin", _written(frontier, self._names))
            storage.write("state.json", (json.dumps(state, indent=1) + "\n").encode())
        except OSError as error:
            if is_full(error):
                raise full_disk(f"{self.folder}") from error
            raise EnvironmentProblem(
                f"cannot write to {self.folder}: {error.strerror or error}",
                next="--resume goes on from the last level kept",
            ) from error
        # Also what a killed run had not written to its end.
        for path in (*self.folder.glob("world-*.bin"), *self.folder.glob(".*-*")):
            if path.name != state["numbers"]:
                path.unlink(missing_ok=True)

    def keep_growth(self, frontier: Frontier) -> None:
        """Write down what each level cost, for the page of the run."""
        levels = [attrs.asdict(item) for item in frontier.growth]
        text = json.dumps({"levels": levels}, indent=1)
        frontier.storage.write("growth.json", text.encode())

    def has_begun(self) -> bool:
        """Return whether there is something to go on with; raises where there never was a run.

        A run that died before its first note is begun anew.
        """
        if (self.folder / "state.json").exists():
            return True
        try:
            run = json.loads((self.folder.parent / "run.json").read_bytes())
        except (OSError, ValueError):
            run = None
        if run != json.loads(json.dumps(self.identity)):
            raise UsageProblem(
                f"{self.folder.parent} holds no search to go on with",
                next="leave out --resume, and it begins anew",
            )
        return False

    # -- going on ------------------------------------------------------------------------

    def restore(self, search: Search, host: str) -> Frontier:
        """Return the frontier as it was last noted; `search` is fresh, of the same world."""
        state = self._state(search)
        self._names = _names(search)
        content = _content(self.folder / state["numbers"], self._names)
        _put_back(search, content)
        claims = {claim.property.name: claim for claim in search.judge.claims}
        frontier = Frontier(
            search=search,
            storage=Storage(self.folder),
            owners=state["owners"],
            # Executors of the run before, if any still ask, are not ours.
            run=f"{state['job']}-{time.time_ns()}",
            host=host,
            job_of_last=state["job_of_last"],
            # Files of jobs that were not noted are nobody's; their names must not come again.
            job=_last_job(self.folder, state["job"]),
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
        state: dict[str, Any] = json.loads((self.folder / "state.json").read_bytes())
        if state.get("format") != FORMAT:
            raise UsageProblem(
                f"{self.folder} was written in format {state.get('format')}, this is {FORMAT}",
                next=f"resume it with joinproto {state.get('version')}, or begin anew",
            )
        here = {"version": __version__, "run": self.identity, "code": code_of(search)}
        here = json.loads(json.dumps(here))
        differs = [name for name in here if here[name] != state[name]]
        if differs:
            told = "; ".join(_difference(name, state[name], here[name]) for name in differs)
            raise UsageProblem(
                f"{self.folder.parent} holds another run: {told}",
                next="give what it was started with, or begin anew in another folder",
            )
        return state


def _difference(name: str, there: Any, here: Any) -> str:
    if name == "code":
        return "the model's source has changed since"
    if name == "version":
        return f"version {there} there, {here} here"
    keys = [key for key in {**there, **here} if there.get(key) != here.get(key)]
    return "; ".join(f"{key} {there.get(key)} there, {here.get(key)} here" for key in keys)


def code_of(search: Search) -> str:
    """Return a hash of the source of the members and of all that they import.

    Of installed packages only what is ours.
    """
    found = hashlib.sha256()
    files = {path for one in packages.MODELS for path in packages.folder(one).rglob("*.py")}
    files |= _sources(search)
    for path in sorted(files):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def _last_job(folder: Path, least: int) -> int:
    """Return a number behind that of every job that ran, or may still be running."""
    numbers = [least]
    for kind in KINDS:
        for path in (folder / kind).iterdir():
            found = re.search(r"\d+", path.name)
            numbers += [int(found[0])] if found else []
    # The last one may not have written anything yet.
    return max(numbers) + 1


# -- values and tables -----------------------------------------------------------------


def _written(frontier: Frontier, names: Names) -> bytes:
    search = frontier.search
    content = {
        "numbering": TablesNumbering(search.tables).content(),
        "seen": search.judge.seen_numbers,
        "first": np.array(search.rows()[: search.begins]),
        "targets": frontier.verdicts.targets,
        "calls": [code.calls for code in _codes(search)],
    }
    try:
        return written(content, names)
    except (CannotKeep, RecursionError) as error:
        raise UsageProblem(
            f"a value of this model cannot be kept in a file: {error}",
            next="hold plain values, enums or classes of the model's own modules; or search"
            " without --out",
        ) from error


def _content(file: Path, names: Names) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read(file.read_bytes(), names)
    except Exception as error:
        raise UsageProblem(
            f"{file} cannot be read: {error}", next="begin anew in another folder"
        ) from error
    return found


def _names(search: Search) -> Names:
    """Return which classes a file may name: of modules that the model is made of."""
    files = _sources(search)

    def is_own(name: str) -> bool:
        file = getattr(sys.modules.get(name), "__file__", None)
        return is_model_code(name) or (file is not None and Path(file).resolve() in files)

    return Names.of([*search.tables.codes.beginnings()], is_own)


def _sources(search: Search) -> set[Path]:
    """Return the files of the members' classes, and of all that they import, but installed ones."""
    kinds = [code.objects.kind for code in _codes(search)]
    return sources_of([sys.modules.get(kind.__module__) for kind in kinds])


def _codes(search: Search) -> list[Any]:
    codes = search.tables.codes
    return [*codes.members, *([codes.monitor] if codes.monitor else [])]


def _answers_as_before(numbering: TablesNumbering, content: dict[str, Any]) -> bool:
    """Return whether members say again what they said, asked a sample of all that they said."""
    try:
        return all(numbering.samples(content, SAMPLES))
    except ModelProblem:
        return False


def _put_back(search: Search, content: dict[str, Any]) -> None:
    tables = search.tables
    # The driver holds numbers only, as when it took over.
    search.budget.lift()
    numbering = TablesNumbering(tables)
    if not _answers_as_before(numbering, content["numbering"]):
        raise UsageProblem(
            "the members answer otherwise than in the run that is kept, though their source is the"
            " same: a data file, the environment or a package is another one",
            next="begin anew in another folder",
        )
    numbering.take(content["numbering"])
    tables.bound_by(search.budget)
    search.judge = Judge(tables, search.budget)
    search.judge.refresh()
    search.judge.mark(content["seen"])
    before, search.expander = search.expander, Expander(tables)
    search.expander.on_layout, search.expander.on_new = before.on_layout, before.on_new
    layout: Layout = tables.layout
    search.states = RowSet(layout.words, search.budget, room=1)
    search.begins = len(content["first"])
    search.states.insert(content["first"], search.begins)
    for code, calls in zip(_codes(search), content["calls"], strict=True):
        code.objects.calls = calls
