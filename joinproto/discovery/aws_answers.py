"""Reading the XML answers of AWS: groups, instances, and the host names at a path.

Source: answers of DescribeAutoScalingInstances 2011-01-01 and DescribeInstances 2015-10-01; host
name paths of the peer discovery plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias
from xml.etree.ElementTree import Element, ParseError, fromstring

from joinproto.discovery.exchange import Refused

HostPath: TypeAlias = tuple[str, ...]


def tree_of(text: str) -> Element:
    """Return the root of an answer, with tags without namespaces.

    Raises `Refused` if the text is not XML, or declares a document type.
    """
    if "<!DOCTYPE" in text:
        raise Refused("the answer of AWS: it declares a document type, which AWS never does")
    try:
        root = fromstring(text)
    except ParseError as error:
        raise Refused(f"the answer of AWS: not XML ({error})") from None
    for one in root.iter():
        one.tag = str(one.tag).rpartition("}")[2]
    return root


def _root(text: str, name: str) -> Element:
    root = tree_of(text)
    if root.tag != name:
        raise Refused(f"the answer of AWS: expected {name}, found {root.tag}")
    return root


def error_code(text: str) -> str | None:
    """Return the error code in an answer, or None."""
    try:
        return tree_of(text).findtext(".//Code") if text else None
    except Refused:
        return None


def next_page(page: str) -> str | None:
    """Return the token of the next page, or None after the last page."""
    root = tree_of(page)
    of_groups = root.findtext("DescribeAutoScalingInstancesResult/NextToken")
    return root.findtext("nextToken") or of_groups or None


# -- groups ---------------------------------------------------------------------------------


def _members(page: str) -> Iterator[Element]:
    root = _root(page, "DescribeAutoScalingInstancesResponse")
    result = root.find("DescribeAutoScalingInstancesResult")
    if result is None:
        raise Refused("the answer of AWS: no DescribeAutoScalingInstancesResult")
    yield from result.iterfind("AutoScalingInstances/member")


def group_of(pages: Iterable[str], instance: str) -> str | None:
    """Return the group of this instance, or None if it is in no group."""
    for page in pages:
        for one in _members(page):
            if one.findtext("InstanceId") == instance:
                return one.findtext("AutoScalingGroupName")
    return None


def members_of(pages: Iterable[str], group: str) -> tuple[str, ...]:
    """Return the instances of this group, in the order of the answers."""
    return tuple(
        one.findtext("InstanceId") or ""
        for page in pages
        for one in _members(page)
        if one.findtext("AutoScalingGroupName") == group and one.findtext("InstanceId")
    )


# -- instances ------------------------------------------------------------------------------


def hosts(
    page: str,
    paths: Sequence[HostPath],
    states: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Return the host names of a page; within a reservation, each name once.

    `states`, `ids`: list only instances in these states, and with these ids; None: all.
    """
    root = _root(page, "DescribeInstancesResponse")
    reservations = root.find("reservationSet")
    if reservations is None:
        raise Refused("the answer of AWS: no reservationSet")
    found: list[str] = []
    for reservation in reservations.iterfind("item"):
        own: dict[str, None] = {}
        for instance in reservation.iterfind("instancesSet/item"):
            state = instance.findtext("instanceState/name")
            if states is not None and state is not None and state not in states:
                continue
            if ids is not None and instance.findtext("instanceId") not in ids:
                continue
            for path in paths:
                own |= dict.fromkeys(name for name in (_walk(instance, path),) if name)
        found += own
    return tuple(found)


def _walk(instance: Element, path: HostPath) -> str | None:
    """Return the text at a path in an instance, or None if there is no text."""
    at: Element | None = instance
    items: list[Element] | None = None
    for step in path:
        if items is not None:
            if not (step.isascii() and step.isdigit()) or not 0 < int(step[:9]) <= len(items):
                return None
            at, items = items[int(step[:9]) - 1], None
            continue
        at = at.find(step) if at is not None and _is_name(step) else None
        if at is None:
            return None
        if len(at) and at[0].tag == "item":
            items = _sorted(at)
    if at is None or items is not None or len(at):
        return None
    return (at.text or "").strip() or None


def _is_name(step: str) -> bool:
    return step.isascii() and step.isalnum()


def _sorted(of: Element) -> list[Element]:
    items = of.findall("item")
    if of.tag == "networkInterfaceSet":
        return sorted(items, key=_device)
    if of.tag == "privateIpAddressesSet":
        return sorted(items, key=lambda one: one.findtext("primary") != "true")
    return items


def _device(item: Element) -> int:
    text = item.findtext("attachment/deviceIndex") or ""
    return int(text[:9]) if text.isascii() and text.isdigit() else 1 << 30
