"""What ``--storage`` says: the file system that is made for the data of a run, by which commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.spec.target import parameters_in
from dsbench.spec.words import Unfit

LABEL: Final = "dsbench"
"""Of every file system that is made here: one that carries it holds nothing of anybody else's."""
_KIB: Final = 1 << 10
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE: Final = re.compile(r"(\d{1,18})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_DEFAULT_BYTES: Final = 4 << 30
_MOST_BYTES: Final = 1 << 50


@dataclass(frozen=True)
class _Kind:
    package: str
    """Of a distribution such as Debian: it has ``mkfs.<type>``."""
    blocks: tuple[str, ...]
    """Sizes that its blocks may have on machines with pages of 4 KiB; xfs's beyond that need Linux 6.12 or newer."""
    takes: tuple[str, ...] = ()
    """Names beside those that every type takes."""
    least_bytes: int = 64 << 20


_EXT: Final = ("1k", "2k", "4k")
KINDS: Final = {
    "ext2": _Kind("e2fsprogs", _EXT),
    "ext3": _Kind("e2fsprogs", _EXT, ("data", "barrier")),
    "ext4": _Kind("e2fsprogs", _EXT, ("data", "barrier", "journal")),
    "xfs": _Kind("xfsprogs", (*_EXT, "8k", "16k", "32k", "64k"), (), 320 << 20),
    "btrfs": _Kind(
        "btrfs-progs", ("4k",), ("barrier", "cow", "compress", "compress-force", "nodesize", "subvolume"), 256 << 20
    ),
    "f2fs": _Kind("f2fs-tools", ("4k",), (), 128 << 20),
}  # fmt: skip

_SWITCH: Final = ("on", "off")
_COMPRESSION: Final = r"(zlib|lzo|zstd)(:\d{1,2})?"
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "data": ("ordered", "journal", "writeback"), "barrier": _SWITCH, "journal": _SWITCH, "subvolume": _SWITCH,
    "cow": ("on", "off", "chattr"), "nodesize": ("4k", "8k", "16k", "32k", "64k"),
}  # fmt: skip
_PATTERNS: Final = {
    "compress": (_COMPRESSION, "zstd, zstd:3, lzo or zlib"),
    "compress-force": (_COMPRESSION, "zstd, zstd:3, lzo or zlib"),
    "age": (r"([1-9]|[1-8]\d|90)%?", "a share to fill, from 1% to 90%"),
    "age-seed": (r"\d{1,9}", "a whole number"),
    # What follows is handed to programs as words of its own: no path can be in it.
    "mount": (r"[A-Za-z0-9_=:.,+-]+", "options of mount, such as noatime,discard"),
    "mkfs": (r"[A-Za-z0-9_=:.,+^ -]+", "options of mkfs, such as -m reflink=0"),
    "device": (r"/dev/[A-Za-z0-9_./:+-]+", "a block device, such as /dev/sdb1"),
}
_COMMON: Final = ("type", "size", "block", "device", "mount", "mkfs", "age", "age-seed")
NAMES: Final = tuple(dict.fromkeys([*_COMMON, *_WORDS, *_PATTERNS]))
"""Everything that can be said of a file system."""


@dataclass(frozen=True)
class Storage:
    """A file system that is asked for: its type, and what was said of it, each value in one way of writing."""

    values: Mapping[str, str]

    @classmethod
    def of(cls, said: object) -> Storage:
        """Out of ``ext4?data=journal&block=1k``, or of the same as names with values; ``ValueError`` for what is none.

        Without a size the file has 4 GiB; a device has its own.
        """
        given = {name.replace("_", "-"): text for name, text in values_of(said).items()}
        kind = given.get("type", "")
        if kind not in KINDS:
            raise Unfit(f"no file system of type {kind[:60]!r} can be created", f"use one of {', '.join(KINDS)}")
        known = (*_COMMON, *KINDS[kind].takes)
        for name in given:
            if name not in known:
                raise Unfit(f"{kind} has no setting {name[:60]!r}", f"use some of {', '.join(known)}")
        if "device" in given and "size" in given:
            raise Unfit("a device has a fixed size", "omit size")
        if given.get("journal") == "off" and "data" in given:
            raise Unfit("data=journal needs a journal", "omit data or journal")
        if "age-seed" in given and "age" not in given:
            raise Unfit("age-seed needs age", "add age, or omit it")
        if "device" not in given:
            given.setdefault("size", f"{_DEFAULT_BYTES}")
        return cls({name: _value(kind, name, given[name]) for name in known if name in given})

    @property
    def type(self) -> str:
        """Of the file system: ``ext4`` …"""
        return self.values.get("type", "")

    @property
    def size_bytes(self) -> int | None:
        """Of the file; ``None`` where a device is used."""
        return bytes_of(self.values["size"]) if "size" in self.values else None

    @property
    def device(self) -> str | None:
        """The device that the user named."""
        return self.values.get("device")

    @property
    def words(self) -> str:
        """For people: ``ext4 (data journal, block 1k)``."""
        rest = ", ".join(f"{name} {value}" for name, value in self.values.items() if name not in ("type", "size"))
        return f"{self.type} ({rest})" if rest else self.type

    def mkfs(self, device: str) -> list[str]:
        """The command that makes it on ``device``. It discards nothing, so that the space of a file stays its own,
        and leaves no work for later, which would be done while a run measures."""
        block, node = self.values.get("block", ""), self.values.get("nodesize", "")
        bytes_of_block = str(bytes_of(block)) if block else ""
        match self.type:
            case "xfs":
                own = ["-q", "-f", "-K", "-L", LABEL, *(["-b", f"size={bytes_of_block}"] if block else [])]
            case "btrfs":
                own = ["-q", "-f", "-K", "-L", LABEL, *(["-n", node] if node else [])]
                own += ["-s", bytes_of_block] if block else []
            case "f2fs":
                own = ["-q", "-f", "-t", "0", "-l", LABEL]
            case _:
                lazy = "nodiscard" if self.type == "ext2" else "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
                own = ["-q", "-F", "-L", LABEL, "-E", lazy, *(["-b", bytes_of_block] if block else [])]
                own += ["-O", "^has_journal"] if self.values.get("journal") == "off" else []
        return [f"mkfs.{self.type}", *own, *self.values.get("mkfs", "").split(), device]

    @property
    def mount_options(self) -> str:
        """What follows ``mount -o``; empty where the type's defaults are taken."""
        said = self.values
        options = [f"{name}={said[name]}" for name in ("data", "compress", "compress-force") if name in said]
        if "barrier" in said:
            off = {"btrfs": "nobarrier"}.get(self.type, "barrier=0")
            options.append(off if said["barrier"] == "off" else {"btrfs": "barrier"}.get(self.type, "barrier=1"))
        options += ["nodatacow"] * (said.get("cow") == "off")
        return ",".join([*options, *([said["mount"]] if "mount" in said else [])])


def values_of(said: object) -> dict[str, str]:
    """Names with values out of ``TYPE?NAME=VALUE&…``, or out of a table, as texts; nothing is checked."""
    if isinstance(said, Mapping):
        return {str(name): _text(value) for name, value in said.items()}
    kind, _, query = str(said).partition("?")
    return {"type": kind, **dict(parameters_in(query))}


def joined(texts: Iterable[str]) -> dict[str, str]:
    """What several words of the command line say together: ``TYPE?NAME=VALUE&…`` or ``NAME=VALUE`` each."""
    found: dict[str, str] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        found |= values_of(text) if not mark or "?" in name else {name.strip(): value.strip()}
    return found


def _text(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _value(kind: str, name: str, text: str) -> str:
    """``text`` in one way of writing; ``ValueError`` where ``name`` cannot have it."""
    text = text.strip()
    if name == "size":
        count = bytes_of(text)
        if not KINDS[kind].least_bytes <= count <= _MOST_BYTES:
            least = f"{KINDS[kind].least_bytes >> 20} MiB"
            raise Unfit(f"size is {text[:60]!r}", f"{kind} needs {least} or more, such as size=4GiB")
        return _size(count)
    if name in ("block", "nodesize"):
        known = KINDS[kind].blocks if name == "block" else _WORDS[name]
        short = f"{bytes_of(text) // _KIB}k"
        if short not in known or bytes_of(text) % _KIB:
            raise Unfit(f"{name} is {text[:60]!r}", f"use one of {', '.join(known)} with {kind}")
        return short
    if name in _WORDS and text not in _WORDS[name]:
        raise Unfit(f"{name} is {text[:60]!r}", f"use one of {', '.join(_WORDS[name])}")
    if name in _PATTERNS:
        pattern, words = _PATTERNS[name]
        if not re.fullmatch(pattern, text):
            raise Unfit(f"{name} is {text[:60]!r}", f"write {words}")
        return text.removesuffix("%") + "%" if name == "age" else text
    return text


def bytes_of(text: str) -> int:
    """Bytes of 4k, 16 KiB, 4GiB or 4096, with powers of 1024; 0 for what is not a size."""
    found = _SIZE.fullmatch(text.strip())
    return int(found[1]) * _UNITS[found[2].lower()] if found else 0


def _size(count: int) -> str:
    """The largest unit that says it whole."""
    unit, power = max((one for one in (("", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30)) if count % 2 ** one[1] == 0),
                      key=lambda one: one[1])  # fmt: skip
    return f"{count >> power}{unit}"
