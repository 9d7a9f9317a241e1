"""The layers and their claims: the index for `joinproto prove`."""

from __future__ import annotations

from joinproto.errors import UsageProblem, did_you_mean
from joinproto.prove.layer import Claim, Layer
from joinproto_claims import chain, clusterer, reconcile, register, serving, standby

LAYERS: tuple[Layer, ...] = (
    register.LAYER,
    chain.LAYER,
    serving.LAYER,
    reconcile.LAYER,
    clusterer.LAYER,
    standby.LAYER,
)
"""All layers, in an order in which a layer assumes only claims of earlier ones."""


def layers() -> tuple[str, ...]:
    return tuple(layer.name for layer in LAYERS)


def claims() -> tuple[str, ...]:
    """Return the names of all claims, without the part after a comma."""
    return tuple(dict.fromkeys(_base(claim.name) for layer in LAYERS for claim in layer.claims))


def conjuncts() -> tuple[str, ...]:
    """Return `layer/conjunct` for all conjuncts."""
    return tuple(f"{layer.name}/{one.name}" for layer in LAYERS for one in layer.conjuncts)


def wanted(name: str | None) -> tuple[tuple[Layer, tuple[Claim, ...]], ...]:
    """Return each layer that has the claim `name`, with its claims of that name.

    `name` may also be a layer's, for all its claims; None means all claims of all layers.
    """
    if name is None:
        return tuple((layer, layer.claims) for layer in LAYERS)
    found = tuple(
        (layer, chosen)
        for layer in LAYERS
        if (chosen := tuple(one for one in layer.claims if name in (_base(one.name), layer.name)))
    )
    if not found:
        raise UsageProblem(
            f"there is no claim {name!r}",
            next=did_you_mean(name, (*layers(), *claims(), "tables"))
            + "use one of "
            + ", ".join((*layers(), *claims(), "tables")),
        )
    return found


def without(layer: Layer, name: str) -> Layer:
    """Return the layer without this conjunct, such as `one_chain` or `chain/one_chain`."""
    where, slash, short = name.rpartition("/")
    return layer.without(short) if not slash or where == layer.name else layer


def is_conjunct(name: str) -> bool:
    return name in conjuncts() or any(one.endswith(f"/{name}") for one in conjuncts())


def _base(name: str) -> str:
    return name.partition(",")[0]


def assumptions(name: str | None) -> tuple[str, ...]:
    """Return the unproved assumptions of the layers that have the claim."""
    return tuple(dict.fromkeys(one for layer, _ in wanted(name) for one in layer.assumes))
