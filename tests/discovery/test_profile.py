"""Keys, region and addresses for AWS from its standard places."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.apps.discovery.aws_profile import Profile, profile
from joinproto.errors import UsageProblem


def written(home: Path, credentials: str = "", config: str = "") -> Path:
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text(credentials)
    (home / ".aws" / "config").write_text(config)
    return home


KEYS = "[{}]\naws_access_key_id = {}\naws_secret_access_key = s\naws_session_token = t\n"


def test_without_files_and_variables_there_are_no_keys(tmp_path: Path) -> None:
    assert Profile() == profile({}, tmp_path)


def test_a_profile_is_read_from_both_files(tmp_path: Path) -> None:
    home = written(
        tmp_path,
        KEYS.format("default", "usual") + KEYS.format("mine", "other"),
        "[default]\nregion = eu-west-1\n[profile mine]\nregion = eu-north-1\n",
    )

    usual, mine = profile({}, home), profile({"AWS_PROFILE": "mine"}, home)

    assert usual.keys is not None
    assert mine.keys is not None
    assert ("usual", "eu-west-1") == (usual.keys.access_key, usual.region)
    assert ("other", "t", "eu-north-1") == (mine.keys.access_key, mine.keys.token, mine.region)


def test_the_environment_wins_over_the_files(tmp_path: Path) -> None:
    home = written(tmp_path, KEYS.format("default", "usual"))
    said = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "r"}
    found = profile(said | {"AWS_ENDPOINT_URL": "https://aws.example"}, home)

    assert found.keys is not None
    assert found.endpoint is not None
    assert ("a", "r", 443) == (found.keys.access_key, found.region, found.endpoint.port)


@pytest.mark.parametrize(
    ("credentials", "said", "why"),
    [
        ("no section", {}, "not a file of profiles"),
        ("", {"AWS_PROFILE": "mine"}, "no profile 'mine'"),
        ("", {"AWS_ENDPOINT_URL": "ftp://x"}, "AWS_ENDPOINT_URL"),
        ("", {"AWS_ENDPOINT_URL": "http://x:port"}, "AWS_ENDPOINT_URL"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    tmp_path: Path, credentials: str, said: dict[str, str], why: str
) -> None:
    """The error repeats no secret of the file."""
    with pytest.raises(UsageProblem, match=why) as raised:
        profile(said, written(tmp_path, credentials))

    assert "no section" not in str(raised.value)
