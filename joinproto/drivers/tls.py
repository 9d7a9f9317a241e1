"""Mutual TLS: both sides show a certificate of the cluster's CA that names the member."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.errors import UsageProblem


@frozen(kw_only=True)
class TlsFiles:
    """PEM files: the own certificate with its chain, its key, and the CA of all members."""

    certificate: Path
    key: Path
    ca: Path

    def context(self, *, accepts: bool) -> ssl.SSLContext:
        """Return the context of one side; raises `UsageProblem` for files that do not fit."""
        purpose = ssl.PROTOCOL_TLS_SERVER if accepts else ssl.PROTOCOL_TLS_CLIENT
        context = ssl.SSLContext(purpose)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The name of a member is not that of a host: `names_in` is compared instead.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_cert_chain(self.certificate, self.key)
            context.load_verify_locations(self.ca)
        except (OSError, ssl.SSLError) as error:
            raise UsageProblem(
                f"TLS files {self.certificate}, {self.key}, {self.ca}: {error}",
                next="give a certificate, its key and the CA's certificate, all as PEM",
            ) from error
        return context


def names_in(certificate: dict[str, Any]) -> frozenset[str]:
    """Return the members that a verified certificate names: its DNS names and common name."""
    alternatives = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    subject = {
        value
        for part in certificate.get("subject", ())
        for kind, value in part
        if kind == "commonName"
    }
    return frozenset(alternatives or subject)
