"""Certificates of one run: an authority for the coordinator and another one for its nodes.

Nodes trust the coordinator's authority alone, so that no node can pass for the coordinator. The keys of both
authorities are forgotten as soon as they have signed: nobody can issue a further certificate of this run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

COORDINATOR: Final = "coordinator"
"""Name in the coordinator's certificate; a node's is ``node-1``, ``node-2`` …"""

_CLOCKS_APART: Final = timedelta(hours=1)
"""Certificates are valid a little before they were made: the clocks of the machines need not agree."""


@dataclass(frozen=True)
class Credentials:
    """Who a member of the cluster is, and whom it trusts: PEM texts."""

    member: str
    certificate: str
    key: str = field(repr=False)
    trusted: str
    """The authorities whose certificates are accepted."""


def issue(nodes: Sequence[str], valid: timedelta, begin: datetime | None = None) -> list[Credentials]:
    """Credentials of the coordinator and of each of ``nodes``, for ``valid`` from ``begin`` (now) on."""
    begin = begin or datetime.now(UTC)
    own, others = (_Authority(f"dsbench {name}", begin, valid) for name in ("coordinator", "nodes"))
    coordinator = own.sign(COORDINATOR, trusted=others.certificate)
    return [coordinator, *(others.sign(node, trusted=own.certificate) for node in nodes)]


def wrong_part(who: Credentials) -> str:
    """Which part of ``who`` is not what it should be; empty when they belong together."""
    part = "certificate"
    try:
        certificate = x509.load_pem_x509_certificate(who.certificate.encode())
        part = "key"
        key = serialization.load_pem_private_key(who.key.encode(), password=None)
        if key.public_key() != certificate.public_key():
            return part
        part = "trusted"
        x509.load_pem_x509_certificates(who.trusted.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return part
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return "" if [name.value for name in names] == [who.member] else "member"


class _Authority:
    """A key that signs, for as long as this object lives."""

    def __init__(self, name: str, begin: datetime, valid: timedelta) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self._begin, self._end = begin - _CLOCKS_APART, begin + valid
        signs = x509.KeyUsage(
            digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
            key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(signs, critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        self.certificate = _pem(builder.sign(self._key, hashes.SHA256()))

    def sign(self, member: str, trusted: str) -> Credentials:
        """A certificate for ``member``, as server and as client, with a key of its own."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(member), key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Credentials(member, _pem(builder.sign(self._key, hashes.SHA256())), private.decode(), trusted)

    def _builder(self, subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._begin)
            .not_valid_after(self._end)
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
