"""URLs of databases, as an argument and in one word with version and settings."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from dsbench import spec

from .mutate import TEXTS, mutated
from .sandbox import called

_SAMPLES = (
    b"postgresql://me:secret@127.0.0.1:5432/db?sslmode=disable&password=other", b"postgresql:///db?host=/run/pg",
    b"mysql://u:p%40ss@[::1]:3306/db?socket=/tmp/s", b"mariadb://h/d", b"firebird://u:p@h:3050//data/run.fdb",
    b"firebird:///alias", b"sqlite:///run.db?synchronous=off", b"sqlite:////tmp/../x", b"mock:?latency_us=5&loss=1",
    b"private:sqlite", b"private:postgresql@15?work_mem=8MB&search_path=a%2Cb", b"private:firebird?ServerMode=Super",
)  # fmt: skip
_PIECES = (b":", b"/", b"//", b"@", b"?", b"&", b"=", b"%", b"#", b"[", b"]", b"%00", b"%zz", b"password=", b" ", b"\\", b"1" * 30)


def make(random: Random) -> bytes:
    """A sample that was changed, or pieces one after the other."""
    pick = random.random()
    if pick < 0.2:
        return b"".join(random.choice(_PIECES + _SAMPLES) for _ in range(random.choice((1, 3, 8, 2000))))
    if pick < 0.4:
        return random.choice(_SAMPLES) + random.choice(TEXTS).encode("utf-8", "surrogatepass")
    return mutated(random, random.choice(_SAMPLES), random.choice(_SAMPLES))


def run(data: bytes, folder: Path) -> None:
    """``dsbench run URL``, and what hides passwords, which has to take anything."""
    word = os.fsdecode(data.replace(b"\0", b"%00"))[:100_000]
    shown, secrets = spec.redact(word[:5000]), spec.secrets_of(word[:5000])
    assert isinstance(shown, str)
    assert all(isinstance(secret, str) for secret in secrets)
    called("run", "--scales", "1", "--", word)
