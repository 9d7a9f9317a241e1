"""The results of histories: a few lines for each history, and a table by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import define, field, frozen

from joinproto.cli.show.amounts import aligned
from joinproto.pick.table import Verdict
from tools.histories.followed import Followed
from tools.histories.judged import History, SubsetVerdict

COLUMNS = (
    Verdict.PROVEN,
    Verdict.TIE,
    Verdict.CLEAN,
    Verdict.UNPROVEN,
    Verdict.DIVERGED,
    Verdict.CORRUPT,
    Verdict.DIFFERENT_CLUSTERS,
)


@frozen(kw_only=True)
class Examined:
    """A history, the verdicts about its subsets, and the outcome of the first verdict's last line.

    `refused`: the error that `recover` gave instead of verdicts.  `worse`: a text for each damaged
    copy whose verdict claims more than the verdict about the stores.
    """

    history: History
    judged: Sequence[SubsetVerdict] = ()
    followed: Followed | None = None
    refused: str = ""
    worse: Sequence[str] = ()

    @property
    def wrong(self) -> list[str]:
        found = [
            f"[{','.join(map(_short, one.given))}] {reason}"
            for one in self.judged
            for reason in one.wrong
        ]
        if self.followed is not None:
            found += self.followed.wrong
        found += [f"damaged: {reason}" for reason in self.worse]
        found += self.history.faults
        return [*found, *([f"refused: {self.refused}"] if self.refused else [])]

    @property
    def line(self) -> str:
        history = self.history
        has = ", ".join(
            f"{_short(node)} {len(names & history.acknowledged)}"
            for node, names in sorted(history.has.items())
        )
        full = self.judged[0] if self.judged else None
        verdict = (
            f"{full.verdict.name} {','.join(map(_short, full.named))}" if full else "no verdict"
        )
        lines = [
            f"{history.seed} {history.kind}: {' | '.join(history.events)}",
            f"    {len(history.acknowledged)} acknowledged; alone: {has}; {verdict.strip()}",
        ]
        if self.followed is not None:
            lines.append(f"    followed: {self.followed.text}")
        if claims := [each.claims for each in self.judged if each.claims]:
            lines.append(f"    queues proven, by subsets of the stores: {sum(claims)}")
        lines += [
            f"    wrong only without its assumption: [{','.join(map(_short, one.given))}] {reason}"
            for one in self.judged
            for reason in one.assumed
        ]
        lines += [f"    WRONG {reason}" for reason in self.wrong]
        return "\n".join(lines)


@define
class Table:
    """Counts by kind of history."""

    rows: dict[str, Counter[str]] = field(factory=dict)

    def add(self, one: Examined) -> None:
        for kind in (one.history.kind, "all"):
            row = self.rows.setdefault(kind, Counter())
            row["histories"] += 1
            row["subsets"] += len(one.judged)
            row.update(each.verdict.value for each in one.judged)
            row["true"] += sum(each.is_true_claim for each in one.judged)
            row["assumed"] += sum(bool(each.assumed) for each in one.judged)
            row["wrong"] += sum(bool(each.wrong) for each in one.judged)
            row["wrong histories"] += bool(one.wrong)
            row["queues proven"] += sum(each.claims for each in one.judged)
            if one.followed is not None:
                row["followed"] += 1
                row["lost unsaid"] += any(one.followed.wrong)
                row["not up"] += bool(one.followed.not_up)
                row["queues followed"] += one.followed.queues
                row["kept"] += one.followed.kept - one.followed.lost

    @property
    def text(self) -> str:
        heads = [
            "histories",
            "subsets",
            *(verdict.value for verdict in COLUMNS),
            "true",
            "assumed",
            "wrong",
            "wrong histories",
            "queues proven",
            "followed",
            "lost unsaid",
            "not up",
            "queues followed",
            "kept",
        ]
        rows = [["kind", *heads]]
        order = sorted(self.rows, key=lambda kind: (kind == "all", kind))
        rows += [[kind, *(str(self.rows[kind][head]) for head in heads)] for kind in order]
        return "\n".join(aligned(rows, str.rjust))


def _short(node: str) -> str:
    return node.partition("@")[0]
