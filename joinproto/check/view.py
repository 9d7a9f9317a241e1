"""The view of a state, which claims and joint steps get."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from joinproto.check.faults import Split, reaches


@frozen
class Down:
    """The observation of a member that is not running."""

    def __str__(self) -> str:
        return "down"

    def __reduce__(self) -> str:
        # Pickled by its name in this module, so that there is only one such object.
        return "DOWN"


DOWN = Down()


@frozen
class ShownAttributes:
    """Attributes of a member or of its disk, by name, as frozen values."""

    values: tuple[tuple[str, Any], ...]

    def __getattr__(self, name: str) -> Any:
        for key, value in object.__getattribute__(self, "values"):
            if key == name:
                return value
        raise AttributeError(
            f"no attribute {name!r} is shown; the attributes are "
            + ", ".join(key for key, _ in self.values)
        )


class NoMember(LookupError):
    """A claim asked for a member that does not exist."""

    def __init__(self, name: object, names: Iterable[str]) -> None:
        self.name = name
        self.next = f"members are {', '.join(names)}"
        super().__init__(f"{name!r} is not a member; {self.next}")


class _NoDisks(dict[str, Any]):
    """The disks of a world that shows none: empty and hashable, because `same` may return it."""

    def __hash__(self) -> int:  # type: ignore[override]
        return 0

    def __missing__(self, name: str) -> Any:
        raise AttributeError("this view has no disks; a world shows them with show_disk=...")


NO_DISKS = _NoDisks()


class View:
    """The members' observations in one state.

    `view[name]` is the observation of that member, or `DOWN`; `view.up` has only the observations
    of running members; `view.disk[name]` is the result of the world's `show_disk`; `view.monitor`
    is the monitor's observation; `view.split` is one side of the present partition, or the cut
    links, or None.  With `World(show_links=True)`, `view.links` holds the messages under way.
    """

    __slots__ = ("_links", "_names", "_shown", "_up", "disk", "monitor", "split")

    def __init__(
        self,
        names: tuple[str, ...],
        shown: tuple[Any, ...],
        disks: tuple[Any, ...],
        monitor: Hashable,
        split: Split | None,
        links: Mapping[tuple[str, str], tuple[Any, ...]] | None = None,
    ) -> None:
        self._names = names
        self._links = links
        self._shown = shown
        self._up: Mapping[str, Any] | None = None
        self.disk: Mapping[str, Any] = dict(zip(names, disks, strict=True)) if disks else NO_DISKS
        self.monitor: Any = monitor
        self.split = split

    @property
    def up(self) -> Mapping[str, Any]:
        """The observations of the running members, by name."""
        if self._up is None:
            self._up = {name: item for name, item in self.items() if item is not DOWN}
        return self._up

    def __getitem__(self, name: str) -> Any:
        try:
            return self._shown[self._names.index(name)]
        except ValueError:
            raise NoMember(name, self._names) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def items(self) -> Iterator[tuple[str, Any]]:
        return zip(self._names, self._shown, strict=True)

    def values(self) -> tuple[Any, ...]:
        return self._shown

    @property
    def links(self) -> Mapping[tuple[str, str], tuple[Any, ...]]:
        """The contents of messages under way, by (sender, addressee); in a queue in its order."""
        if self._links is None:
            raise AttributeError(
                "this view has no links; a world of queues or bags shows them with show_links=True"
            )
        return self._links

    def under_way(
        self,
        wanted: Callable[[Any], Any] | type | None = None,
        *,
        sender: str | None = None,
        to: str | None = None,
    ) -> int:
        """Return how many messages are under way from `sender` to `to`; None means any member.

        `wanted`: count only messages whose content is of this class, or for whose content this
        function is true.
        """

        def counts(content: Any) -> bool:
            if wanted is None:
                return True
            return (
                isinstance(content, wanted) if isinstance(wanted, type) else bool(wanted(content))
            )

        return sum(
            counts(content)
            for (one, other), held in self.links.items()
            if sender in (None, one) and to in (None, other)
            for content in held
        )

    def connected(self, one: str, other: str) -> bool:
        """Return whether messages from `one` reach `other` in the present partition."""
        return reaches(self.split, one, other)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {item}" for name, item in self.items())
        return f"View({shown})"
