"""What a machine needs to take part in a run, in one small file: where the coordinator is, whom to trust, who it is.

``invite`` writes a folder of them: one for the coordinator, one for each node. A bundle holds a private key, so the
files are for their owner alone (0600), and no password of a database.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, ValidationError

from dsbench.dataclass import dataclass
from dsbench.measure.joining import ClusterError

PORT: Final = 8786
VALID: Final = timedelta(days=3)
SUFFIX: Final = ".bundle"
COORDINATOR: Final = "coordinator"
AGAIN: Final = "create a new one: dsbench cluster invite --nodes N --out DIR"

_LONGEST: Final = 100_000
_CLOCKS_APART: Final = timedelta(hours=1)
"""Certificates are valid a little before they were made: the clocks of the machines need not agree."""
_ELSEWHERE: Final = "192.0.2.1"
"""An address for documentation: no packet is sent, the system only says which of ours would face it."""


def _encodable(host: str) -> str:
    host.encode("idna")
    return host


class Bundle(BaseModel, frozen=True, strict=True, extra="forbid"):
    """One member's place in a cluster."""

    format: Literal[2] = 2
    member: Annotated[str, Field(pattern=r"^(coordinator|node-[1-9][0-9]{0,8})$")]
    host: Annotated[str, Field(pattern=r"^[^\s\x00-\x20]+$"), AfterValidator(_encodable)]
    port: Annotated[int, Field(ge=1, le=65535)]
    """Where the coordinator listens."""
    expires: AwareDatetime
    trusted: str  # The authority of the run
    certificate: str
    key: str = Field(repr=False)

    @property
    def address(self) -> str:
        """The coordinator's address, as it is said."""
        return f"tls://{bracketed(self.host)}:{self.port}"

    @property
    def text(self) -> str:
        """The content of its file."""
        return self.model_dump_json(indent=1) + "\n"


@dataclass(frozen=True)
class Invitation:
    """The bundles of one run."""

    coordinator: Bundle
    folder: Path | None = None  # ``None``: they are in no file

    @property
    def bundles(self) -> list[Path]:
        """The files for the nodes, by their number."""
        found = self.folder.glob(f"node-*{SUFFIX}") if self.folder else ()
        return sorted(found, key=lambda path: (len(path.name), path.name))

    def how_to_join(self, nodes: int) -> list[str]:
        """Lines for whoever has to start the nodes."""
        lines = [f"waiting for {nodes} nodes at {self.coordinator.address}; on each of those machines:"]
        return [*lines, *(f"  dsbench cluster node --join {path}" for path in self.bundles[:nodes])]

    def spend(self) -> None:
        """Deletes all bundles: their run is over, and whoever has a copy finds nobody."""
        for path in [*self.bundles, *([self.folder / f"{COORDINATOR}{SUFFIX}"] if self.folder else [])]:
            path.unlink(missing_ok=True)


def issue(nodes: int, host: str = "", port: int = PORT, valid: timedelta = VALID) -> tuple[Bundle, list[Bundle]]:
    """The bundles of a new cluster: the coordinator's, and those of the nodes.

    The key of the authority that signs them is forgotten: there is no further certificate of this run.
    """
    begin, expires = datetime.now(UTC) - _CLOCKS_APART, datetime.now(UTC) + valid
    authority, name = ec.generate_private_key(ec.SECP256R1()), _name(f"dsbench {secrets.token_hex(8)}")

    def sign(key: ec.EllipticCurvePrivateKey, subject: x509.Name, *, ca: bool) -> str:
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(expires)
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    trusted = sign(authority, name, ca=True)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()

    def bundle(member: str) -> Bundle:
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain).decode()
        return Bundle(
            member=member, host=host or own_address(), port=port, expires=expires.replace(microsecond=0),
            trusted=trusted, certificate=sign(key, _name(member), ca=False), key=private,
        )  # fmt: skip

    try:
        return bundle(COORDINATOR), [bundle(f"node-{number}") for number in range(1, nodes + 1)]
    except ValidationError:
        problem = f"nodes cannot find {host!r}, port {port}"
        raise ClusterError(problem, "specify a host with --address", usage=True) from None


def invite(folder: Path, nodes: int, host: str = "", port: int = PORT, valid: timedelta = VALID) -> Invitation:
    """Writes the bundles of a new cluster into ``folder``, which must not hold any yet."""
    coordinator, others = issue(nodes, host, port, valid)
    try:
        if any(folder.glob(f"*{SUFFIX}")):
            raise ClusterError(f"{folder} already contains bundles", "specify another with --out, or delete "
                                                                     "them", usage=True)
        if not (folder.is_dir() and any(folder.iterdir())):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / ".gitignore").write_text("# Keys: they give access to the run.\n*\n")
        for bundle in (coordinator, *others):
            path = folder / f"{bundle.member}{SUFFIX}"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(bundle.text)
    except OSError as error:
        problem = f"cannot write to {folder}: {error.strerror}"
        raise ClusterError(problem, "specify another with --out", usage=True) from None
    return Invitation(coordinator, folder)


def invitation(folder: Path) -> Invitation:
    """The invitation that ``invite`` left in ``folder``."""
    path = folder / f"{COORDINATOR}{SUFFIX}"
    try:
        if path.exists():
            return Invitation(read(path), folder)
        used = any(folder.glob(f"*{SUFFIX}"))
    except OSError as error:  # a name that no file can have
        raise ClusterError(f"{folder}: {error.strerror}", AGAIN, usage=True) from None
    what = "its bundles belong to a run that has ended" if used else "no invitation"
    raise ClusterError(f"{folder}: {what}", AGAIN, usage=True)


def read(path: Path) -> Bundle:
    """A bundle from its file; ``-`` reads it from standard input."""
    remedy = "specify the file that dsbench cluster invite wrote"
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
            text = file.read(_LONGEST)
    except OSError as error:
        raise ClusterError(f"{path}: {error.strerror}", remedy, usage=True) from None
    try:
        found = Bundle.model_validate_json(text)
        wrong = _wrong_part(found)
    except ValidationError as error:
        where = error.errors(include_input=False, include_url=False)[0]["loc"]
        wrong = str(where[0]) or "field" if where else "form"
    if wrong == "format":
        problem = f"{path} was made by another version of dsbench"
        raise ClusterError(problem, "use one version on all machines", usage=True)
    if wrong:
        raise ClusterError(f"{path} is not a valid bundle: invalid {wrong}", remedy, usage=True)
    if datetime.now(UTC) >= found.expires:
        raise ClusterError(f"{path} expired at {found.expires}", "create a new one: dsbench cluster invite", usage=True)
    return found


def read_of_node(path: Path) -> Bundle:
    """A bundle by which a machine may join."""
    if (found := read(path)).member == COORDINATOR:
        problem = f"{path} is the bundle of the {COORDINATOR}, not a bundle of a node"
        raise ClusterError(problem, "give dsbench cluster node a file node-N.bundle; this one stays here", usage=True)
    return found


def _wrong_part(bundle: Bundle) -> str:
    """Which part of ``bundle`` is not what it should be; empty when they belong together."""
    part = "certificate"
    try:
        certificate = x509.load_pem_x509_certificate(bundle.certificate.encode())
        part = "key"
        key: Any = serialization.load_pem_private_key(bundle.key.encode(), password=None)
        if key.public_key() != certificate.public_key():
            return part
        part = "trusted"
        x509.load_pem_x509_certificates(bundle.trusted.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return part
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return "" if [name.value for name in names] == [bundle.member] else "member"


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def bracketed(host: str) -> str:
    """``host`` as it stands in an address."""
    return f"[{host}]" if ":" in host else host


def own_address(towards: str = _ELSEWHERE) -> str:
    """The address of this machine that faces ``towards``."""
    try:
        family, kind, _proto, _name, where = socket.getaddrinfo(towards, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(where)
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"


def listening(host: str) -> str:
    """Where to listen so that nodes find us at ``host``: there, if that is an address of ours; else everywhere."""
    try:
        ipaddress.ip_address(host)
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return host
    except (ValueError, OSError):
        return "0.0.0.0"
