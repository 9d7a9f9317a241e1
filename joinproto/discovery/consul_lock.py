"""The lock in Consul: a session, a key that it holds, and a blocking read until it is free.

Real: each request ends after 2250 ms, the blocking read too, so the lock fails as soon as
another node holds it for that long, and its session is left behind.  Ours: the read may take
the rest of the time for the lock, and what was begun is taken back.

Source: Consul requests of the peer discovery plugin; discovery, D1 and D3.
"""

from __future__ import annotations

from joinproto.discovery.consul_settings import REQUEST_SECONDS, Consul
from joinproto.discovery.contract import Done, Held, Variant
from joinproto.discovery.exchange import (
    Flow,
    Refused,
    arguments,
    asked,
    compact,
    escaped,
    failing,
    fitting,
    parsed,
    part,
    waited,
)

BLOCK_MAX = 60
"""Seconds of one blocking read of ours: what waits longer is asked again."""


def _key(about: Consul) -> str:
    names = f"{about.lock_prefix}/{about.cluster_name}/startup_lock"
    return f"/v1/kv/{escaped(names, '/')}"


def _ttl(about: Consul) -> int:
    return about.svc_ttl or 30


@failing
def lock(about: Consul) -> Flow[Held]:
    """Return the lock, once no other node holds it."""
    body = compact({"Name": about.node, "TTL": f"{_ttl(about)}s"})
    got = yield from asked(about.request("PUT", "/v1/session/create", body=body))
    what = "the session of Consul"
    session = part(parsed(got.body, dict, what), "ID", str, what)
    if not session:
        raise Refused(f"{what}: an answer without ID")
    try:
        yield from _acquired(about, session)
    except Refused:
        if about.variant is Variant.OURS:
            yield about.request("PUT", f"/v1/session/destroy/{escaped(session)}")
        raise
    return Held(key=_key(about), session=session, renew_every=_ttl(about) / 2)


def _acquired(about: Consul, session: str) -> Flow[None]:
    left = float(about.lock_timeout)
    what = "the lock of Consul"
    while True:
        acquire = about.request("PUT", _key(about), arguments=arguments(("acquire", session)))
        got = yield from asked(acquire)
        left -= got.took
        if parsed(got.body, bool, what):
            return
        if left <= 0:
            raise Refused(f"{what}: another node holds it, after {about.lock_timeout} s")
        got = yield from asked(about.request("GET", _key(about)), ok=(200, 404))
        left -= got.took
        if got.status == 404:  # it is gone: acquire again, but never in a storm
            yield from waited(0.1)
            left -= 0.1
            continue
        entries = parsed(got.body, list, what)
        if not entries:
            raise Refused(f"{what}: an empty list")
        entry = fitting(entries[0], dict, what)
        index = part(entry, "ModifyIndex", int, what)
        if entry.get("Session") is None or index is None:
            # Free, or released with the delay that Consul keeps after a session's end.
            yield from waited(1.0)
            left -= 1.0
            continue
        left -= yield from _blocked(about, index, left, session)


def _blocked(about: Consul, index: int, left: float, session: str) -> Flow[float]:
    """Wait until the key changes; return how long."""
    real = about.variant is Variant.REAL
    if real:
        wait, seconds = about.lock_timeout, REQUEST_SECONDS
    else:
        # Before the session ends it is renewed: a read is at most as long as half of it.
        wait = max(1, min(int(left), BLOCK_MAX, _ttl(about) // 2))
        seconds = wait * 1.1 + REQUEST_SECONDS  # Consul adds up to a sixteenth
    pairs = arguments(("index", str(index)), ("wait", f"{wait}s"))
    read = about.request("GET", _key(about), arguments=pairs, seconds=seconds)
    got = yield from asked(read, ok=(200, 404))
    if real:
        return got.took
    renewed = yield from asked(about.request("PUT", _renewal(session)))
    return got.took + renewed.took


def _renewal(session: str) -> str:
    return f"/v1/session/renew/{escaped(session)}"


@failing
def hold(about: Consul, held: Held) -> Flow[Done]:
    """Renew the session."""
    yield from asked(about.request("PUT", _renewal(held.session)))
    return Done()


@failing
def unlock(about: Consul, held: Held) -> Flow[Done]:
    """Release the key; ours ends the session, too."""
    release = about.request("PUT", held.key, arguments=arguments(("release", held.session)))
    yield from asked(release)
    if about.variant is Variant.OURS:
        yield from asked(about.request("PUT", f"/v1/session/destroy/{escaped(held.session)}"))
    return Done()
