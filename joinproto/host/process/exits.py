"""Exit codes of a node, which tell a supervisor whether to start it again.

0    in order: stopped, or the whole cluster was shut down         leave it down
2    the configuration is wrong                                   do not restart
3    not active within `timing.wait`                              restart
4    the machine: an address in use, a disk that is full          restart after a while
5    this store must not run here: wrong store, other options,    do not restart
     damaged, of a newer version, replaced by an older copy
6    no member has a clean store, or too few have one that is not    do not restart
     an older copy: `joinproto recover` first
10   a bug of ours                                                restart
143  at once: a second SIGTERM or SIGINT, or too slow to stop     as you like
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from joinproto.errors import JoinprotoError, StoreError, StoreInUse, StoreWriteFailed
from joinproto.host.failures import ASKS_OPERATOR, Aborted, NotActive, only_one
from joinproto.machine.vocabulary import Reason

TOO_LATE = 3
MACHINE = 4
MUST_NOT_RUN = 5
RECOVER_FIRST = 6
BUG = 10
AT_ONCE = 143


def with_code(error: JoinprotoError, reason: Reason | None) -> JoinprotoError:
    """Return the error with its exit code; `reason`: why the member waits for the next view."""
    match error:
        case Aborted():
            error.code = RECOVER_FIRST if error.abort.needs_recovery else MUST_NOT_RUN
        case NotActive():
            error.code = RECOVER_FIRST if reason in ASKS_OPERATOR else TOO_LATE
        case StoreInUse() | StoreWriteFailed():
            error.code = MACHINE
        case StoreError():
            error.code = MUST_NOT_RUN
    return error


@contextmanager
def raising_with_code(reason: Callable[[], Reason | None]) -> Iterator[None]:
    """Raise an exception of the block without its exception group, and with its exit code.

    `reason`: returns why the member waits for the next view.
    """
    try:
        yield
    except BaseException as error:
        found = only_one(error)
        if isinstance(found, JoinprotoError):
            raise with_code(found, reason()) from error
        if found is error:
            raise
        raise found from error
