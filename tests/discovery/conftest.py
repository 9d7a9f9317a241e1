"""One etcd for all tests here that do not kill it; each test has its own cluster name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.needs import need
from tools.boots.servers import Etcd, etcds


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """Return one real etcd."""
    need("etcd")
    with etcds(tmp_path_factory.mktemp("etcd")) as (one,):
        yield one
