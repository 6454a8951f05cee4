"""What a run is asked to do: frozen values, parsed once, the same names everywhere.

Every setting has one name: in TOML, on the command line, in ``run.json`` and in the browser.
"""

from __future__ import annotations

import re
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

Isolation = Literal["read-committed", "repeatable-read", "serializable"]
Call = Literal["procedure", "statements"]
Population = Literal["bulk", "procedure"]
Arrival = Literal["poisson", "constant"]
Pace = Literal["none", "terminals"]

RETRYING = frozenset({"tpcc"})
"""Workloads whose specification has the driver submit a transaction again; those of TPC-B count it as failed."""

TERMINALS_PER_SCALE = 10
"""TPC-C, clause 4.2.1: ten terminals for each warehouse."""

DSI_SCALES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
LEVELS = (0.5, 0.68, 0.87, 0.95, 0.99, 0.997)
"""Confidence levels of seed 000, section 3.4, as quantiles 0-1."""

_SECRET_PARAMETERS = frozenset({"password", "passwd", "pwd", "sslpassword"})


class SpecError(ValueError):
    """A setting that cannot be. ``option`` names it, ``remedy`` says what to do."""

    def __init__(self, option: str, problem: str, remedy: str) -> None:
        super().__init__(f"{option}: {problem}")
        self.option = option
        self.problem = problem
        self.remedy = remedy


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Target(_Frozen):
    """The database addressed by a URL, with the settings of a private server where dsbench starts one.

    ``url`` may hold a password: use ``redacted`` for whatever is written or shown.
    """

    url: str = "private:sqlite"
    settings: dict[str, str] = Field(default_factory=dict)
    """Server settings applied to a private server, by the server's own names."""
    version: str | None = None
    """Version of the private server that is wanted; ``None`` takes the newest that the system has: one that was
    unpacked beside it is taken only by its version."""
    directory: Path | None = None
    """Where a private server keeps its data; ``None`` is a new folder in the temporary directory."""

    @model_validator(mode="before")
    @classmethod
    def _private_in_one(cls, value: object) -> object:
        """``private:postgresql@18?work_mem=8MB`` is a URL, a version and settings in one word."""
        if not isinstance(value, dict) or not str(value.get("url", "")).startswith("private:"):
            return value
        head, _, query = str(value["url"]).partition("?")
        url, at, version = head.partition("@")
        settings = dict(parse_qsl(query, keep_blank_values=True))
        if at and value.get("version") not in (None, version):
            raise ValueError(f"{value['url']} names one version, the setting version another: leave one of them out")
        given = value.get("settings") or {}
        merged = {**settings, **given} if isinstance(given, dict) else given
        return {**value, "url": url, "version": version if at else value.get("version"), "settings": merged}

    @property
    def private(self) -> str | None:
        """Product of a private server (``postgresql`` …), ``None`` for a server of the user's."""
        return self.url.removeprefix("private:") if self.url.startswith("private:") else None

    @property
    def in_one(self) -> str:
        """URL, version and settings in one word, as ``url`` takes it; of a private server only."""
        query = urlencode(self.settings, quote_via=quote, safe="/:,")
        return self.url + (f"@{self.version}" if self.version else "") + (f"?{query}" if query else "")

    @property
    def redacted(self) -> str:
        """The URL without its password, in the authority and in the query alike."""
        return redact(self.url)

    @field_validator("settings", mode="before")
    @classmethod
    def _settings_as_text(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {str(k): _setting_text(v) for k, v in value.items()}


def _setting_text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def redact(url: str) -> str:
    """``url`` with every password replaced by ``***``; the rest comes back letter by letter.

    In a URL that an engine would refuse, as an ``@`` or a port stands where none may be, too much is hidden rather
    than a part of a password shown.
    """
    scheme, _, rest = url.partition("://")
    if not re.match("[A-Za-z0-9]+://", url):
        return url if url.startswith(("private:", "sqlite:")) else _without_login(url)
    address, mark, query = rest.partition("?")
    pairs = [pair.partition("=") for pair in query.split("&")]
    hidden = [(name, "=", "***") if name.lower() in _SECRET_PARAMETERS else (name, equals, value)
              for name, equals, value in pairs]  # fmt: skip
    rest = address + mark + "&".join("".join(pair) for pair in hidden)
    authority = re.split("[/?]", rest, maxsplit=1)[0]
    after = rest[len(authority) :]
    if scheme != "sqlite" and "@" in after and (authority or ":" in after.rpartition("@")[0]):
        # A slash or question mark that should have been written %2F or %3F.
        return f"{scheme}://{_without_login(rest)}"
    user, at, host = authority.rpartition("@")
    if ":" in user:
        user = user.partition(":")[0] + ":***"
    elif not at and re.search(r":(?!\d*$)[^]]*$", host):
        # No port: a password whose host was forgotten.
        host = host.partition(":")[0] + ":***"
    return f"{scheme}://{user}{at}{host}{after}"


def _without_login(text: str) -> str:
    """``text`` without what stands between its first colon and its last ``@``."""
    login, _at, rest = text.rpartition("@")
    return f"{login.partition(':')[0]}:***@{rest}" if ":" in login else text


def secrets_of(url: str) -> list[str]:
    """The passwords in ``url``, as they are written and as they are meant."""
    _scheme, _separator, rest = url.partition("://")
    address, _mark, query = rest.partition("?")
    written = [address.rpartition("@")[0].partition(":")[2]]
    written += [value for name, _, value in (pair.partition("=") for pair in query.split("&"))
                if name.lower() in _SECRET_PARAMETERS]  # fmt: skip
    return sorted({text for value in written if value for text in (value, unquote(value))}, key=len, reverse=True)


Seconds = Annotated[float, Field(gt=0, le=86_400 * 7, allow_inf_nan=False)]
Threads = Annotated[int, Field(ge=1, le=100_000)]


class RunSpec(_Frozen):
    """One run: one workload against one target over a ladder of scales (seed 000, section 2.4)."""

    target: Target = Target()
    workload: str = "tpcb"
    workload_settings: dict[str, str] = Field(default_factory=dict)
    """Settings of the workload alone, by its own names."""
    scales: tuple[int, ...] = (1, 2, 5)
    """X_s: sizes of the database in the sense of TPC-B."""
    cycles: Annotated[int, Field(ge=1, le=10_000)] = 10
    """I: cycles per scale."""
    duration: Seconds = 60.0
    """D: demanded duration of a cycle in seconds."""
    threads: Threads = 16
    """J: simulated clients per node. Given as several, it is the largest; all of them are ``thread_steps``."""
    thread_steps: tuple[Threads, ...] = ()
    """Numbers of threads at each of which the cycles of every scale are run; empty with one number."""
    carriers: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Threads of the operating system that carry the clients of a node; 0: one per CPU, where engine and load allow."""
    connections: Annotated[int, Field(ge=1, le=10_000)] = 1
    """C: connections of each thread, used round robin."""
    nodes: Annotated[int, Field(ge=0, le=100_000)] = 0
    """N: remote nodes; 0 makes the load on this machine."""
    lease: Annotated[float, Field(ge=0.5, le=600, allow_inf_nan=False)] = 6.0
    """Seconds after which a node without word from the run stops its load, and the run goes on without it."""
    isolation: Isolation = "repeatable-read"
    call: Call | None = None
    """``None``: procedure where the engine has them."""
    population: Population = "bulk"
    retry: bool = False
    """Run a transaction again that a serialization failure or a deadlock ended; for a workload of
    ``RETRYING`` the default is to do so."""
    prepare: bool = False
    reconnect: bool = False
    rate: Annotated[float, Field(ge=0.001, le=10_000_000, allow_inf_nan=False)] | None = None
    """Demanded starts per second of all clients together (open loop); ``None`` is the closed loop."""
    arrival: Arrival = "poisson"
    pace: Pace = "none"
    """``terminals``: people key in before and think after each transaction, as long as the workload says."""
    terminals: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Terminals of all nodes together; ``None``: ten for each unit of scale. Threads serve them."""
    ramp_up: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 0.0
    """Seconds of load before the clock of each cycle starts, which are not recorded."""
    trace: bool = False
    """Keep every residence time, not only the histogram."""
    levels: tuple[float, ...] = LEVELS
    """Quantiles 0-1 of the confidence diagram and of columns 13-18."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = Field(default_factory=lambda: secrets.randbits(48))
    profile: str = ""
    """Name of the profile the values came from; empty when none was named."""

    @field_validator("scales")
    @classmethod
    def _scales_rise(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value:
            raise ValueError("needs at least one scale, such as 1,2,5")
        if any(x < 1 or x > 21_474 for x in value):
            raise ValueError("each scale lies between 1 and 21474")
        if list(value) != sorted(set(value)):
            raise ValueError("scales must rise, each only once, such as 1,2,5")
        return value

    @model_validator(mode="before")
    @classmethod
    def _several_threads(cls, values: object) -> object:
        """``threads`` as a list are steps; a list of one number is that number."""
        if not isinstance(values, dict) or not isinstance(values.get("threads"), list | tuple):
            return values
        steps = tuple(values["threads"])
        if not steps or any(not isinstance(step, int) for step in steps):
            raise _misfit("--threads", "needs whole numbers, such as 10,20,40")
        return {**values, "threads": max(steps), "thread_steps": steps if len(steps) > 1 else ()}

    @model_validator(mode="before")
    @classmethod
    def _retry_of_the_workload(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("workload") in RETRYING:
            return {"retry": True, **values}
        return values

    @field_validator("thread_steps")
    @classmethod
    def _steps_rise(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if list(value) != sorted(set(value)):
            raise ValueError("several numbers of threads must rise, each only once, such as 10,20,40")
        return value

    @field_validator("workload_settings", mode="before")
    @classmethod
    def _workload_settings_as_text(cls, value: object) -> object:
        return {str(k): _setting_text(v) for k, v in value.items()} if isinstance(value, dict) else value

    @field_validator("levels")
    @classmethod
    def _levels_rise(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if len(value) != len(LEVELS) or any(not 0 < q < 1 for q in value) or list(value) != sorted(set(value)):
            raise ValueError(f"needs {len(LEVELS)} rising quantiles between 0 and 1")
        return value

    @field_validator("trace")
    @classmethod
    def _trace_is_local(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("nodes"):
            raise ValueError("a trace is kept of load on this machine only: leave --trace or --nodes out")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.reconnect and self.connections > 1:
            words = "connections above 1 mean nothing with reconnect: leave one of them out"
            raise _misfit("--reconnect", words)
        if self.pace == "terminals" and self.rate is not None:
            raise _misfit("--pace", "people at terminals set the rate: leave out --rate, or --pace terminals")
        if self.terminals is not None and self.pace == "none":
            words = "there are terminals only with --pace terminals: add it, or leave --terminals out"
            raise _misfit("--terminals", words)
        if self.workload_settings.get("delivery") == "deferred" and self.pace == "none":
            words = "delivery=deferred spares people at terminals a wait: use it with --pace terminals, or inline"
            raise _misfit("--set", words)
        return self

    @property
    def steps(self) -> tuple[int, ...]:
        """Numbers of threads in the order in which they are run; one at least."""
        return self.thread_steps or (self.threads,)

    def at(self, threads: int) -> Self:
        """The same with one number of threads."""
        return self.model_copy(update={"threads": threads, "thread_steps": ()})

    def terminals_at(self, scale: int) -> int | None:
        """Terminals of all nodes together at ``scale``; ``None`` when nobody keys in and thinks."""
        return terminals_of({"pace": self.pace, "terminals": self.terminals}, scale)

    def described(self) -> dict[str, Any]:
        """The specification as it is archived: JSON values, no password; ``threads`` a list where there are several."""
        data = self.model_dump(mode="json", exclude={"thread_steps"})
        data["threads"] = list(self.thread_steps) or self.threads
        data["target"]["url"] = self.target.redacted
        return data


def _misfit(option: str, problem: str) -> PydanticCustomError:
    """An error about how settings fit together; ``option`` is where it can be mended."""
    # The braces of a message would be taken for places to fill in.
    return PydanticCustomError("misfit", "{problem}", {"option": option, "problem": problem})


def threads_of(spec: Mapping[str, Any]) -> tuple[int, ...]:
    """The numbers of threads in a specification as ``run.json`` holds it."""
    threads = spec.get("threads", 1)
    return tuple(int(step) for step in threads) if isinstance(threads, list) else (int(threads),)


def terminals_of(spec: Mapping[str, Any], scale: int) -> int | None:
    """``RunSpec.terminals_at`` of a specification as ``run.json`` holds it, also of an older version."""
    if spec.get("pace", "none") == "none":
        return None
    return int(spec.get("terminals") or TERMINALS_PER_SCALE * scale)


PROFILES: dict[str, dict[str, Any]] = {
    "dsi": {
        "scales": DSI_SCALES,
        "cycles": 10,
        "duration": 60.0,
        "threads": 16,
        "connections": 1,
        "nodes": 0,
        "isolation": "repeatable-read",
        "retry": False,
        "prepare": False,
        "reconnect": False,
        "rate": None,
        "pace": "none",
        "ramp_up": 0.0,
        "call": None,
    },
    "quick": {"scales": (1, 2, 5), "cycles": 3, "duration": 4.0, "threads": 4},
}
"""Named sets of values: ``dsi`` gives comparable figures (seed 000, section 5.2), ``quick`` takes a minute."""


def build(values: dict[str, Any], *, profile: str | None = None) -> RunSpec:
    """A specification from settings by name, over those of ``profile``.

    Raises ``SpecError`` naming the first setting that is wrong.
    """
    if profile is not None and profile not in PROFILES:
        raise SpecError("--profile", f"no profile {profile!r}", f"use one of {', '.join(PROFILES)}")
    merged = {**PROFILES.get(profile or "", {}), **values, "profile": profile or ""}
    for name in ("scales", "threads"):
        if isinstance(text := merged.get(name), str):
            merged[name] = _numbers(f"--{name}", text)
    try:
        asked = RunSpec.model_validate(merged)
    except ValidationError as error:
        raise _spec_error(error) from None
    refuse_unused(asked.target, asked.workload)
    return asked


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise SpecError(option, f"{text!r} is no list of numbers", "write for instance 1,2,5") from None


def refuse_unused(target: Target, workload: str) -> None:
    """``SpecError`` where ``target`` is no private server and yet is given what only such a one can take.

    Such a wish would stay in ``run.json`` without an effect. It is no part of ``Target``, as archives of older
    versions, which did not refuse it, have to stay readable.
    """
    if target.private is not None:
        return
    if target.settings:
        names = ", ".join(repr(name) for name in target.settings)
        are = "are no settings" if len(target.settings) > 1 else "is no setting"
        problem = f"{names} {are} of {workload}, and TARGET is no private server"
        remedy = "settings of a database that is there stand in its URL, ?NAME=VALUE, or in its server's configuration"
        raise SpecError("--set", problem, remedy)
    for name, value in (("version", target.version), ("directory", target.directory)):
        if value is not None:
            problem = f"{str(value)!r} means something to a private server only, and TARGET is none"
            raise SpecError(f"TARGET.{name}", problem, "leave it out, or name a target such as private:sqlite")


_OPTIONS = {"thread_steps": "threads", "workload_settings": "set"}


_PLAIN = [
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"value error, (.*)", r"\1"),
        (r"input should be greater than or equal to (\S+)", r"has to be \1 or more"),
        (r"input should be less than or equal to (\S+)", r"has to be \1 or less"),
        (r"input should be greater than (\S+)", r"has to be more than \1"),
        (r"input should be less than (\S+)", r"has to be less than \1"),
        (r"input should be a valid integer.*", "has to be a whole number"),
        (r"input should be a (?:valid|finite) number.*", "has to be a number"),
        (r"input should be a valid (?:tuple|list)", "has to be a list, such as [1, 2, 5]"),
        (r"input should be a valid string", "has to be text"),
        (r"input should be a valid boolean.*", "has to be true or false"),
        (r"input should be a valid dictionary.*", "has to be a table of names and values"),
        (r"input is not a valid path.*", "has to be a path"),
        (r"input should be ('.*)", r"has to be \1"),
    )
]
"""The words of Pydantic, also where the parser of the command line uses it, and ours."""


def plain(message: str) -> str:
    """``message`` about a value in plain words."""
    for pattern, words in _PLAIN:
        if found := pattern.fullmatch(message):
            return found.expand(words)
    return message


def _spec_error(error: ValidationError) -> SpecError:
    first = error.errors(include_url=False, include_input=False)[0]
    where = [str(part) for part in first["loc"]]
    message = plain(first["msg"])
    if first["type"] == "misfit":
        return SpecError(first["ctx"]["option"], message, "see dsbench run --help")
    if where[0] == "target":
        option = ".".join(["TARGET", *where[1:2]])
    else:
        option = "--" + _OPTIONS.get(where[0], where[0].replace("_", "-"))
    if first["type"] == "extra_forbidden":
        known = ", ".join(sorted(set(RunSpec.model_fields) - {"thread_steps", "levels"}))
        return SpecError(where[-1], "no setting has this name", f"known settings: {known}")
    return SpecError(option, message, "see dsbench run --help")


def load_toml(path: Path) -> dict[str, Any]:
    """Settings of a configuration file, by name; ``ramp-up``, as the option has it, is ``ramp_up``.

    Raises ``SpecError`` when it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return {name.replace("-", "_"): value for name, value in tomllib.load(file).items()}
    except OSError as error:
        raise SpecError("--config", f"{path}: {error.strerror}", "name a readable TOML file") from None
    except tomllib.TOMLDecodeError as error:
        remedy = "mend the file; the settings are those of dsbench run --help"
        raise SpecError("--config", f"{path}: {error}", remedy) from None
