"""Fields that a later version wrote and this one does not know: they survive a rewrite.

Otherwise a member that runs the older version for an hour erases what the newer one will
need.  A field belongs to the object it stands in: fields of the whole payload stay for
ever, those of a view as long as the view is kept, those of any other object as long as all
that we know of it is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def with_unknown(tree: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return `tree`, a payload of known fields only, with what only `source` has.

    Known fields stand first, in their own order; so equal contents give equal bytes.
    """
    kept = {view.get("id"): view for view in _views(source)}

    def view_of(view: dict[str, Any]) -> Any:
        return _kept(view, kept.get(view["id"]))

    merged = {key: _kept(value, source.get(key)) for key, value in tree.items()}
    merged["views"] = [view_of(view) for view in tree["views"]]
    # A view keeps its fields when it is learned after it was accepted, and the other way.
    if merged["accepted"] is not None:
        merged["accepted"] = {**merged["accepted"], "view": view_of(tree["accepted"]["view"])}
    unknown = {key: value for key, value in source.items() if key not in tree}
    return merged | unknown


def _views(source: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from source.get("views", ())
    accepted = source.get("accepted")
    if accepted is not None:
        yield accepted["view"]


def _kept(new: Any, old: Any) -> Any:
    """Return `old` if it says all that `new` says, else `new`."""
    return old if isinstance(new, dict) and _says(old, new) else new


def _says(old: Any, new: Any) -> bool:
    if isinstance(new, dict):
        return isinstance(old, dict) and all(
            key in old and _says(old[key], value) for key, value in new.items()
        )
    return bool(old == new) and type(old) is type(new)
