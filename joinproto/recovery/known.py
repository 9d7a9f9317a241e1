"""Reading many stores of one cluster: a view that was read before is not read again.

Members of a cluster keep the same views, and a file is nearly all views: 300 stores of 1,000
views are 300,000 of them to decode and to hash, and only some 1,000 are different.  So the
text of a file is cut between its views, and of each text only the first one is decoded, by
the store's own `decode`.

The answer is that of `joinproto.store.slots.judge`, or it is left to that: nothing is taken
from a file that is not spelled as `encode` spells it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import Factory, define, evolve

from joinproto.codec.malformed import Malformed
from joinproto.durable.envelope import Envelope, Validity, unseal
from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage, lineage_of
from joinproto.join.view import View
from joinproto.store.codec import decode
from joinproto.store.contents import Contents
from joinproto.store.slots import Slot, judge

# A line break stands in no JSON string, so these can only be real line breaks.
_KEY = b'"views"'
_OPEN = b"\n  " + _KEY + b": [\n    {"
_BETWEEN = b"\n    },\n    {"
_CLOSE = b"\n    }\n  ]"

_FRAME: Mapping[str, Any] = {
    "member": "a",
    "cluster_name": None,
    "store_id": "a",
    "held": None,
    "position": None,
    "update_unfinished": False,
    "promised": None,
    "accepted": None,
    "mark": None,
    "history": [],
}
"""A store around one view, so that `decode` looks at that view."""


@define
class Known:
    """The records read in one run.  `views`: by their text.  `links`: see `_linked`."""

    views: dict[bytes, View] = Factory(dict)
    links: dict[ViewId, int] = Factory(dict)
    lineages: dict[tuple[ViewId, ViewId, int], Lineage] = Factory(dict)

    def judge(self, path: Path, raw: bytes) -> Slot:
        """Return the slot of one file's bytes, as `joinproto.store.slots.judge` does.

        `contents.source` may lack views: it is not for writing.
        """
        found = unseal(raw)
        contents = self._contents(found.payload) if isinstance(found, Envelope) else None
        if contents is None or not isinstance(found, Envelope):
            return judge(path, raw)
        return Slot(
            path=path,
            validity=Validity.VALID,
            generation=found.generation,
            contents=contents,
            raw=raw,
        )

    def _contents(self, payload: bytes) -> Contents | None:
        """Return the contents; None if `decode` must read them."""
        head, opened, rest = payload.partition(_OPEN)
        views, closed, tail = rest.partition(_CLOSE)
        around = head + tail
        # A second key of that name, spelled in whatever way, could be the one that counts.
        if not opened or not closed or _KEY in around or b"\\" in around:
            return None
        texts = views.split(_BETWEEN)
        try:
            # With its tip only; that others are on its chain is believed, and seen below.
            few = decode(head + _OPEN + texts[-1] + _CLOSE + tail)
            lineage = self._lineage(texts, few.record.lineage)
            return evolve(few, record=evolve(few.record, lineage=lineage))
        except Malformed:
            return None

    def _lineage(self, texts: Sequence[bytes], tip_only: Lineage) -> Lineage:
        initial = tip_only.initial
        assert isinstance(initial, str)
        views = tuple(self.views.get(text) or self._decoded(text, initial) for text in texts)
        first = lineage_of(views[:1], initial)
        key = (initial, views[-1].id, len(views))
        known = self.lineages.get(key)
        if known is None or known.views != views:
            for at in range(1, len(views)):
                self._linked(views, at, first)
            known = self.lineages[key] = Lineage(views, initial)
        return known

    def _decoded(self, text: bytes, initial: str) -> View:
        frame = json.dumps({**_FRAME, "initial": initial}).encode().removesuffix(b"}")
        (view,) = decode(frame + b', "views": [{' + text + b"\n}]}").record.lineage.views
        return self.views.setdefault(text, view)

    def _linked(self, views: tuple[View, ...], at: int, first: Lineage) -> None:
        """Raise `Malformed` unless the view may stand behind the one before it.

        An id stands for all that is before it, so this is looked at once; but a position in a
        view that is forgotten is believed, and has to be looked at where that view is kept.
        """
        view, oldest = views[at], views[0].number
        if view.parent == views[at - 1].id and self.links.get(view.id, oldest + 1) <= oldest:
            return
        Lineage(views[:at], first.initial).append(view, keep=at + 1)
        self.links[view.id] = oldest
