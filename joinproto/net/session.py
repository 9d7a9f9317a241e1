"""One connection, without a socket: a peer proves which member it is, and its frames are tagged so
that no other peer can have sent them.

    dialer      {versions, cluster, from, to, nonce, run}           ->
    acceptor    {versions, cluster, from, to, nonce, run, proof}   <-      or {refused}
    dialer      {proof}                                              ->
    acceptor    {welcome}                                          <-      or {refused}
    both        frames, each with a tag over its number

The proofs are HMACs with the shared secret, over both nonces and all fields of the greetings.  Each
side thus proves that it knows the secret without sending it, and no proof or frame is valid on
another connection.  The tag of a frame covers the frame's number: a frame that is replayed, left
out or changed is refused.  Without a secret, the same is done with an empty one, which only tells
honest members apart; then TLS proves who a peer is, or the port is open to this machine only.

Versions: each side sends the lowest and the highest version that it speaks, and both speak the
highest common one.  If there is none, they refuse each other and say why.

The run is drawn by each process at its start.  It tells a second process that is configured as the
same member from one process that calls again.  Members of the first versions send no run.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any

from attrs import define, field, frozen

from joinproto.codec.malformed import FORBIDDEN
from joinproto.join.wire import BYTES_MAX, LATEST
from joinproto.net.framing import Reader, framed
from joinproto.net.refused import Refused

VERSIONS = (1, LATEST)
"""The lowest and the highest version of the wire that this code speaks.

2: the messages of `joinproto/log` by which frames come to rest before a close.  3: a `Promise`
names the members that its sender does not hear; a joiner gets the base that replaces dropped
frames.  4: members confirm that a view holds, a refusal names the refused message, and a `Chosen`
tells whether its sender has frames of the view.
"""

GREETING_BYTES_MAX = 4_096
_GREETING = ("joinproto", "cluster", "from", "to", "nonce")
TAG_BYTES = 16
FRAME_BYTES_MAX = BYTES_MAX + 1_024


@frozen(kw_only=True)
class Identity:
    """The identity of this side.  `secret`: of the cluster, empty for none.

    `why_refused`: called with the other side's name; returns why the other side is refused, or "".
    `run`: this process's run, "" to send none.  `why_not_free`: called with the name and the run of
    a proved caller; returns why that name is not free, or "".  `earlier`: sent to a caller that
    greets in another form.  `aliases`: other names under which this side may be called.
    """

    member: str
    cluster_name: str
    secret: bytes = field(default=b"", repr=False)
    versions: tuple[int, int] = VERSIONS
    why_refused: Callable[[str], str] = lambda name: ""
    run: str = ""
    why_not_free: Callable[[str, str], str] = lambda name, run: ""
    earlier: str = ""
    aliases: frozenset[str] = frozenset()


@define
class Session:
    """The state of one connection.

    `dials`: the member that this side called, None if the peer called.  `peer`: the other member,
    None until it is proved; `run`: the run of its process, "" if it sends none.  `version`: the
    version of the wire that both speak.  `called`: the alias under which this side was called, or
    "".
    """

    me: Identity
    dials: str | None
    peer: str | None = None
    version: int = 0
    run: str = ""
    called: str = ""
    out: bytearray = field(factory=bytearray)
    _reader: Reader = field(factory=lambda: Reader(GREETING_BYTES_MAX))
    _next: Callable[[Any], None] | None = None
    _mine: dict[str, Any] = field(factory=dict)
    _key: bytes = field(default=b"", repr=False)
    _mac: hmac.HMAC = field(factory=lambda: hmac.new(b"", digestmod="sha256"), repr=False)
    _claimed_name: str = ""
    _sent: int = 0
    _heard: int = 0

    def __attrs_post_init__(self) -> None:
        self._next = self._hear_greeting
        if self.dials is not None:
            self._greet(self.dials)
            self._say(self._mine)

    def take_out(self) -> bytes:
        """Return the bytes to send now."""
        out, self.out = bytes(self.out), bytearray()
        return out

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the bodies of frames; the caller must then look at `peer` and send `take_out()`.

        Raises `Refused`; during the greeting, the bytes of `take_out` then tell the other side why.
        """
        for body in self._reader.feed(data):
            if self._next is None:
                yield self._verified_body(body)
            else:
                self._next(self._parsed(body))

    def seal(self, body: bytes) -> bytes:
        """Return the bytes of one frame; `peer` must be known."""
        tag = self._tag(self._sent, body, from_dialer=self.dials is not None)
        self._sent += 1
        return framed(tag + body)

    # -- greeting ----------------------------------------------------------------------------

    def _greet(self, to: str) -> None:
        self._mine = {
            "joinproto": list(self.me.versions),
            "cluster": self.me.cluster_name,
            "from": self.called or self.me.member,
            "to": to,
            "nonce": token_hex(16),
        }
        if self.me.run:
            self._mine["run"] = self.me.run

    def _hear_greeting(self, said: Any) -> None:
        self._require_no_refusal(said)
        try:
            theirs = _fields(said, *_GREETING)
        except Refused as refused:
            raise self._refusing(f"{refused}; {self.me.earlier}".removesuffix("; ")) from None
        if self.me.run and "run" in said:
            theirs["run"] = said["run"]
        self._check_greeting(theirs)
        self._claimed_name = theirs["from"]
        if self.dials is None:
            self._greet(self._claimed_name)
            self._key = self._make_key(theirs, self._mine)
            self._say({**self._mine, "proof": self._proof(b"acceptor")})
            self._next = self._hear_proof
        else:
            self._key = self._make_key(self._mine, theirs)
            self._require_proof(said, b"acceptor")
            self._say({"proof": self._proof(b"dialer")})
            self._next = self._hear_welcome

    def _hear_proof(self, said: Any) -> None:
        self._require_proof(said, b"dialer")
        why = "" if self.called else self.me.why_not_free(self._claimed_name, self.run)
        if why:
            raise self._refusing(why)
        self._say({"welcome": self.version})
        self._open()

    def _hear_welcome(self, said: Any) -> None:
        self._require_no_refusal(said)
        _fields(said, "welcome")
        self._open()

    def _open(self) -> None:
        self._next = None
        self._mac = hmac.new(self._key, digestmod="sha256")
        self._reader.limit = FRAME_BYTES_MAX
        self.peer = self._claimed_name

    def _check_greeting(self, theirs: dict[str, Any]) -> None:
        """Refuse a greeting of another version or cluster, or with a wrong name.

        Sets `version`, `run` and `called`.
        """
        low, high = self.me.versions
        found = theirs["joinproto"]
        is_pair = isinstance(found, list) and len(found) == 2
        if not is_pair or not all(type(number) is int for number in found):
            raise self._refusing("a greeting without versions")
        self.version = min(high, found[1])
        if self.version < max(low, found[0]):
            speaks = f"wire versions {found[0]} to {found[1]}"
            raise self._refusing(f"it speaks {speaks}, {self.me.member} speaks {low} to {high}")
        texts = [theirs[name] for name in theirs.keys() - {"joinproto"}]
        if not all(isinstance(text, str) and 0 < len(text) <= 1_000 for text in texts):
            raise self._refusing("a greeting with a field that is not text, empty or too long")
        if any(FORBIDDEN.search(text) for text in texts):
            raise self._refusing("a greeting with control characters or surrogates")
        if theirs["cluster"] != self.me.cluster_name:
            raise self._refusing(
                f"it is of cluster {theirs['cluster']!r}, {self.me.member} is of"
                f" {self.me.cluster_name!r}"
            )
        if theirs["to"] != self.me.member:
            if self.dials is not None or theirs["to"] not in self.me.aliases:
                raise self._refusing(f"it calls {theirs['to']!r}, but this is {self.me.member!r}")
            self.called = theirs["to"]
        name = theirs["from"]
        if name == self.me.member or (self.dials is not None and name != self.dials):
            expected = "another member" if self.dials is None else repr(self.dials)
            raise self._refusing(f"it is {name!r}, expected {expected}")
        self.run = theirs.get("run", "")
        why = self.me.why_refused(name)
        if why:
            raise self._refusing(why)

    # -- proofs and tags -----------------------------------------------------------------------

    def _make_key(self, dialer: dict[str, Any], acceptor: dict[str, Any]) -> bytes:
        # An earlier version may not know a field that only one side sends.
        both = dialer.keys() & acceptor.keys()
        pair = [{name: one[name] for name in both} for one in (dialer, acceptor)]
        said = json.dumps(pair, sort_keys=True).encode()
        return hmac.digest(self.me.secret, b"joinproto session\n" + said, "sha256")

    def _proof(self, role: bytes) -> str:
        return hmac.new(self._key, b"proof of the " + role, "sha256").hexdigest()

    def _require_proof(self, said: Any, role: bytes) -> None:
        found = _fields(said, "proof")["proof"]
        if not isinstance(found, str) or not found.isascii():
            raise self._refusing("a proof that is not text")
        if not hmac.compare_digest(found, self._proof(role)):
            raise self._refusing(f"{self._claimed_name!r} does not know the secret of this cluster")

    def _tag(self, number: int, body: bytes, *, from_dialer: bool) -> bytes:
        side = b"d" if from_dialer else b"a"
        # The HMAC is copied, because making one from the key takes twice as long as the rest.
        mac = self._mac.copy()
        mac.update(side + number.to_bytes(8, "big") + body)
        return mac.digest()[:TAG_BYTES]

    def _verified_body(self, frame: bytes) -> bytes:
        tag, body = frame[:TAG_BYTES], frame[TAG_BYTES:]
        expected = self._tag(self._heard, body, from_dialer=self.dials is None)
        if not hmac.compare_digest(tag, expected):
            raise Refused(f"frame {self._heard} was not sent by {self.peer}, or is out of order")
        self._heard += 1
        return body

    # -- texts ---------------------------------------------------------------------------------

    def _say(self, tree: dict[str, Any]) -> None:
        self.out += framed(json.dumps(tree).encode())

    def _refusing(self, why: str) -> Refused:
        self._say({"refused": why})
        return Refused(why)

    def _require_no_refusal(self, said: Any) -> None:
        if isinstance(said, dict) and isinstance(said.get("refused"), str):
            # A text of an unknown side is shortened and escaped.
            raise Refused(f"{self.dials} refuses us: {said['refused'][:200]!r}")

    def _parsed(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise Refused("a greeting that is not JSON") from None


def _fields(said: Any, *names: str) -> dict[str, Any]:
    if not isinstance(said, dict) or any(name not in said for name in names):
        raise Refused(f"a greeting without {', '.join(names)}")
    return {name: said[name] for name in names}
