"""Keys, region and addresses for AWS, found as AWS's own tools find them.

Keys come from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, or from the
files `~/.aws/credentials` and `~/.aws/config`.  `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE`
may name other files.  The profile is that of `AWS_PROFILE`, of `AWS_DEFAULT_PROFILE`, or `default`.
The environment counts before the files.  A file that cannot be parsed is an error: otherwise the
role of the machine would be used, which may have other permissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from configparser import Error, RawConfigParser
from pathlib import Path
from urllib.parse import urlsplit

from attrs import frozen

from joinproto.discovery.aws import Endpoint
from joinproto.discovery.exchange import Signing
from joinproto.errors import UsageProblem

DEFAULT = "default"
PORTS = {"http": 80, "https": 443}


@frozen
class Profile:
    """The settings of a profile; a field is None if the profile lacks it."""

    keys: Signing | None = None
    region: str | None = None
    endpoint: Endpoint | None = None
    metadata: Endpoint | None = None


def profile(environment: Mapping[str, str], home: Path) -> Profile:
    """Return the profile from the environment and the files; raises `UsageProblem`."""
    name = environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE") or DEFAULT
    credentials = _section(
        _place(environment, "AWS_SHARED_CREDENTIALS_FILE", home / ".aws" / "credentials"), name
    )
    in_config = name if name == DEFAULT else f"profile {name}"
    config = _section(_place(environment, "AWS_CONFIG_FILE", home / ".aws" / "config"), in_config)
    asked = "AWS_PROFILE" in environment or "AWS_DEFAULT_PROFILE" in environment
    if asked and credentials is None and config is None:
        raise UsageProblem(
            f"AWS: no profile {name!r} in the credentials or the config file",
            next="check AWS_PROFILE, AWS_DEFAULT_PROFILE and the two files",
        )
    from_environment = _keys(
        {name.removeprefix("AWS_").lower(): value for name, value in environment.items()}, ""
    )
    return Profile(
        keys=from_environment or _keys(credentials or {}, "aws_") or _keys(config or {}, "aws_"),
        region=environment.get("AWS_REGION")
        or environment.get("AWS_DEFAULT_REGION")
        or (config or {}).get("region")
        or (credentials or {}).get("region"),
        endpoint=_endpoint(environment, "AWS_ENDPOINT_URL"),
        metadata=_endpoint(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT"),
    )


def _place(environment: Mapping[str, str], variable: str, usual: Path) -> Path:
    written = environment.get(variable)
    return Path(written).expanduser() if written else usual


def _section(path: Path, name: str) -> Mapping[str, str] | None:
    """Return a section of a file; None if the file or the section does not exist."""
    parser = RawConfigParser(strict=False, default_section="no section is everybody's")
    try:
        parser.read_string(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, Error) as error:
        # The parser's message repeats the line that it could not parse, which may be a secret.
        why = error.strerror if isinstance(error, OSError) else "not a file of profiles"
        raise UsageProblem(
            f"AWS: {path}: {why}", next="correct the file, or make it readable for this user"
        ) from None
    return dict(parser.items(name)) if parser.has_section(name) else None


def _keys(found: Mapping[str, str], prefix: str) -> Signing | None:
    access, secret = (
        found.get(f"{prefix}{what}") for what in ("access_key_id", "secret_access_key")
    )
    if not access or not secret:
        return None
    token = found.get(f"{prefix}session_token") or None
    return Signing(access_key=access, secret_key=secret, token=token, region="", service="")


def _endpoint(environment: Mapping[str, str], variable: str) -> Endpoint | None:
    written = environment.get(variable)
    if not written:
        return None
    try:
        parts = urlsplit(written)
        usual = PORTS.get(parts.scheme)
        if usual and parts.hostname and parts.path in ("", "/"):
            port = parts.port or usual
            return Endpoint(
                scheme="https" if parts.scheme == "https" else "http",
                host=parts.hostname,
                port=port,
            )
    except ValueError:
        pass
    raise UsageProblem(f"{variable} is {written!r}", next="write http://HOST:PORT or https://HOST")
