"""Signatures, version 4, equal AWS's published vectors, and those of AWS's own signer."""

from __future__ import annotations

from hashlib import sha256

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from joinproto.discovery.exchange import Argument, Header, Request, Signing, arguments
from joinproto.discovery.sigv4 import domain, shipped, sign, signed, usual

KEYS = Signing(
    access_key="AKIDEXAMPLE",
    secret_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    region="us-east-1",
    service="service",
)
TIME = "20150830T123600Z"


def vector_request(*pairs: tuple[str, str], path: str = "/", **changed: object) -> Request:
    """Return a request like those of the published vectors: GET, unless `changed` has a method."""
    told = {"method": "GET", "host": "example.amazonaws.com"} | changed
    return Request(scheme="https", port=443, path=path, arguments=arguments(*pairs), **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "request_", "signature"),
    [
        (
            "get-vanilla",
            vector_request(),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "get-vanilla-query-order-key-case",
            vector_request(("Param2", "value2"), ("Param1", "value1")),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "post-vanilla",
            vector_request(method="POST"),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
    ],
)
def test_a_signature_equals_its_published_vector(
    name: str, request_: Request, signature: str
) -> None:
    """The vectors are from AWS's test suite; the signed headers are host and x-amz-date."""
    done = sign(request_, KEYS, TIME, usual(request_, TIME, None))

    assert signature == done.signature, name
    assert (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
        f" SignedHeaders=host;x-amz-date, Signature={signature}"
    ) == done.authorization


def test_the_signature_equals_the_example_of_the_reference() -> None:
    """AWS's general reference signs this request step by step."""
    by = Signing(
        access_key=KEYS.access_key, secret_key=KEYS.secret_key, region="us-east-1", service="iam"
    )
    kind = Header("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
    request = vector_request(
        ("Action", "ListUsers"),
        ("Version", "2010-05-08"),
        host="iam.amazonaws.com",
        headers=(kind,),
    )
    done = sign(request, by, TIME, usual(request, TIME, None))

    assert "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59" == (
        sha256(done.canonical.encode()).hexdigest()
    )
    assert "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7" == done.signature


def botocore_signature(request: Request, by: Signing, headers: tuple[Header, ...]) -> str:
    """Return the signature that AWS's own signer makes over these headers."""
    theirs = AWSRequest(
        method=request.method,
        url=f"https://{request.host}{request.target}",
        data=request.body.encode(),
        headers={one.name: one.value for one in headers},
    )
    theirs.context["timestamp"] = TIME
    auth = SigV4Auth(Credentials(by.access_key, by.secret_key, by.token), by.service, by.region)
    canonical = auth.canonical_request(theirs)
    return str(auth.signature(auth.string_to_sign(theirs, canonical), theirs))


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)


@given(
    pairs=st.dictionaries(st.text("Ab.1-_", min_size=1, max_size=8), TEXT, max_size=5),
    body=TEXT,
    token=st.none() | st.text("abc/+=", min_size=1, max_size=9),
    is_shipped=st.booleans(),
)
def test_every_signature_equals_that_of_awss_own_signer(
    pairs: dict[str, str], body: str, token: str | None, is_shipped: bool
) -> None:
    """The headers are those of the shipped plugin, or those of AWS's examples."""
    by = Signing(access_key="AK", secret_key="sk/+", region="eu-west-1", service="ec2", token=token)
    request = Request(
        method="POST",
        scheme="https",
        host="ec2.eu-west-1.amazonaws.com",
        port=443,
        path="/",
        arguments=tuple(Argument(name, value) for name, value in pairs.items()),
        body=body,
    )
    headers = (shipped if is_shipped else usual)(request, TIME, token)
    done = sign(request, by, TIME, headers)

    assert botocore_signature(request, by, headers) == done.signature


def test_the_shipped_headers_are_signed_with_the_time_in_date() -> None:
    """A token is signed, too."""
    request = vector_request(("Action", "DescribeInstances"))
    plain = sign(request, KEYS, TIME, shipped(request, TIME, None))
    with_token = sign(request, KEYS, TIME, shipped(request, TIME, "a-token"))

    assert "content-length;date;host;x-amz-content-sha256" == plain.signed_headers
    assert f"{plain.signed_headers};x-amz-security-token" == with_token.signed_headers
    assert Header("date", TIME) in plain.headers
    empty = sha256(b"").hexdigest()
    assert Header("x-amz-content-sha256", empty) in plain.headers


def test_a_request_is_signed_once_and_its_secret_key_is_not_sent() -> None:
    request = Request(method="GET", scheme="https", host="h", port=443, path="/", signing=KEYS)
    sent = signed(request, TIME)

    assert "Authorization" == sent.headers[-1].name
    assert sent.signing is None
    assert KEYS.secret_key not in repr(sent)
    assert sent == signed(sent, TIME)


def test_china_has_a_domain_of_its_own() -> None:
    assert "amazonaws.com.cn" == domain("cn-north-1")
    assert "amazonaws.com" == domain("ca-central-1")


def test_arguments_are_encoded_as_they_are_signed() -> None:
    """Values are percent-encoded: a blank is %20, never a plus."""
    request = vector_request(("Filter.1.Value.1", "a b/ü+~"))
    done = sign(request, KEYS, TIME, usual(request, TIME, None))

    assert "/?Filter.1.Value.1=a%20b%2F%C3%BC%2B~" == request.target
    assert request.query == done.canonical.splitlines()[2]
