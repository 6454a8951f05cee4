"""Specifications: one name for each setting, wrong values named, passwords out of sight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench import spec


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql://me@host/db?password=secret&port=1", "postgresql://me@host/db?password=***&port=1"),
        ("postgresql://me:se%3Acret@/db?host=/run/pg", "postgresql://me:***@/db?host=/run/pg"),
        ("mysql://u:a@b@host/db", "mysql://u:***@host/db"),
        ("postgresql://u:se/cret@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u:se?cret@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u:se@cr/et@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u:se/cr?et=x@host/db", "postgresql://u:***@host/db"),
        ("postgresql:///u:secret@host/db", "postgresql:///u:***@host/db"),
        ("postgresql:u:secret@host/db", "postgresql:***@host/db"),
        ("u:secret@host/db", "u:***@host/db"),
        ("firebird://u:secret", "firebird://u:***"),
        ("firebird://[::1]:3050//data/run.fdb", "firebird://[::1]:3050//data/run.fdb"),
        ("firebird:///home/me@work/run.fdb", "firebird:///home/me@work/run.fdb"),
        ("postgresql://h/db?password=a@b", "postgresql://h/db?password=***"),
        ("sqlite:////a:b@c/run.db", "sqlite:////a:b@c/run.db"),
        ("sqlite:////data/run.db", "sqlite:////data/run.db"),
        ("private:postgresql", "private:postgresql"),
        ("mock:?latency_us=5", "mock:?latency_us=5"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert spec.Target(url=url).redacted == shown


@given(st.text(alphabet=st.characters(exclude_characters="/?#@[]", codec="ascii", min_codepoint=33), min_size=8))
def test_no_password_survives(password: str) -> None:
    described = spec.build({"target": {"url": f"postgresql://user:{password}@somewhere/db"}}).described()
    assert described["target"]["url"] == "postgresql://user:***@somewhere/db"


@given(st.text(alphabet="/?#@&=%:[], ", max_size=4), st.text(alphabet="/?#@&=%:[], ", max_size=4))
def test_no_fragment_of_a_password_is_shown_however_it_was_written(first: str, second: str) -> None:
    password = f"Tr0ub{first}4dor{second}X7wQ"
    places = ("u:{}@host/db", "u:{}@host:1//data/run.fdb?wait=1", "/u:{}@host/db", ":{}@host")
    for scheme in ("postgresql://", "mysql://", "firebird://", "postgresql:", ""):
        for place in places:
            shown = spec.redact(scheme + place.format(password))
            assert not any(part in shown for part in ("Tr0u", "r0ub", "4dor", "X7wQ")), shown


def test_passwords_are_known_as_written_and_as_meant() -> None:
    assert spec.secrets_of("mysql://me:a%40b@host/?socket=/x&PASSWORD=secret") == ["secret", "a%40b", "a@b"]
    assert spec.secrets_of("postgresql://me@host/db?port=5432") == []
    assert spec.secrets_of("sqlite:////data/run.db") == []
    assert spec.secrets_of("mock:") == []


def test_defaults_are_those_of_the_profile_quick() -> None:
    run = spec.build({"target": {"url": "private:postgresql"}})
    assert (run.scales, run.cycles, run.duration, run.clients, run.connections) == ((1, 2, 5), 3, 4.0, 4, 1)
    assert (run.retry, run.prepare, run.reconnect, run.isolation) == (False, False, False, "read-committed")


@pytest.mark.parametrize("profile", ["dsi", "dsi-fast"])
def test_comparable_figures_are_made_as_the_paper_says(profile: str) -> None:
    dsi = spec.build({}, profile=profile)
    assert dsi.scales == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
    assert (dsi.clients, dsi.connections, dsi.isolation, dsi.retry) == (16, 1, "repeatable-read", False)
    assert (dsi.cycles, dsi.duration) == ((10, 60.0) if profile == "dsi" else (5, 10.0))
    assert dsi.levels == (0.5, 0.68, 0.87, 0.95, 0.99, 0.997)


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ({}, (4, 8)), ({"scales": (1, 2)}, (1, 2)), ({"workload": "tpcc"}, (1, 2, 5)), ({"workload": "tp1"}, (1,)),
        ({"clients": 4, "seed": 3}, (4, 8)), ({"cycles": 3}, (4, 8)), ({"duration": 4.0}, (4, 8)),
    ],
)  # fmt: skip
def test_what_is_not_named_is_that_of_the_profile_quick(said: dict[str, Any], short: tuple[int, ...]) -> None:
    found = spec.merged(said, target="private:postgresql")
    assert (found.spec.scales, found.spec.cycles, found.spec.duration, found.spec.clients) == (short, 3, 4.0, 4)
    assert (found.spec.profile, found.glimpse) == ("quick", True)
    origins = {name: found.origins[name] for name in ("scales", "cycles", "duration", "clients")}
    assert origins == {name: "command line" if name in said else "profile quick" for name in origins}


@pytest.mark.parametrize(("said", "scales"), [
    ({"clients": 1}, (1, 2, 5)), ({"clients": (2, 6)}, (6, 12)), ({"clients": 3, "nodes": 2}, (6, 12)),
    ({"clients": 200}, (16, 32)), ({"clients": 8, "workload": "select"}, (1, 2, 5)), ({"peak": True}, (1, 2, 5)),
    ({"clients": 8, "profile": "quick"}, (8, 16)),
])  # fmt: skip
def test_a_quick_run_has_a_branch_for_each_client(said: dict[str, Any], scales: tuple[int, ...]) -> None:
    assert spec.merged(said, target="private:postgresql").spec.scales == scales


@pytest.mark.parametrize("target", [None, "private:sqlite", "sqlite:///file.db", "private:sqlite3?journal_mode=wal"])
def test_sqlite_has_one_client_where_nobody_says_how_many(target: str | None) -> None:
    assert spec.merged({}, target=target).spec.clients == 1
    assert spec.merged({"cycles": 5}, target=target).origins["clients"] == "profile quick"
    assert spec.build({"target": {"url": target}} if target else {}).clients == 1
    assert spec.merged({"clients": 4}, target=target).spec.clients == 4
    assert spec.merged({"profile": "dsi"}, target=target).spec.clients == 16
    archived = spec.merged({"clients": 4}, target=target).spec.described()
    assert spec.RunSpec.model_validate(archived).clients == 4


@pytest.mark.parametrize("target", ["private:sqlite", "private:postgresql"])
def test_a_peak_is_searched_up_to_64_threads_where_nobody_says_how_many(target: str) -> None:
    found = spec.merged({"peak": True}, target=target).spec
    assert found.client_numbers == (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    assert spec.merged({"peak": True, "clients": 4}, target=target).spec.client_numbers == (1, 2, 3, 4)


@pytest.mark.parametrize("profile", ["dsi", "dsi-fast"])
def test_a_named_profile_says_what_is_left_open(profile: str) -> None:
    found = spec.merged({"profile": profile, "scales": (1, 2), "duration": 7.0})
    named = spec.PROFILES[profile]
    assert (found.spec.scales, found.spec.duration) == ((1, 2), 7.0)
    assert (found.spec.cycles, found.spec.clients) == (named["cycles"], named["clients"])
    assert (found.spec.isolation, found.glimpse) == ("repeatable-read", False)


def test_each_workload_has_its_isolation() -> None:
    assert [spec.build({"workload": name}).isolation for name in ("tpcb", "tpcc", "tp1", "select", "insert")] == [
        "read-committed", "repeatable-read", "read-committed", "read-committed", "read-committed"
    ]  # fmt: skip


def test_tpcc_is_retried_unless_told_otherwise() -> None:
    assert spec.build({"workload": "tpcc"}).retry
    assert not spec.build({"workload": "tpcc", "retry": False}).retry
    assert not spec.build({"workload": "tpcb"}).retry
    # What an archive says stays as it is.
    archived = spec.build({"workload": "tpcc", "retry": False}).described()
    assert not spec.RunSpec.model_validate(archived).retry


def test_what_is_said_wins_over_the_profile() -> None:
    run = spec.build({"clients": 3}, profile="quick")
    assert (run.clients, run.cycles, run.profile) == (3, 3, "quick")


def test_seeds_differ_unless_given() -> None:
    assert spec.build({}).seed != spec.build({}).seed
    assert spec.build({"seed": 5}).seed == 5


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"rate": float("inf")}, "--rate"),
        ({"levels": (0.5, 0.1)}, "--levels"),
        ({"levels": (0.5, 1.0)}, "--levels"),
        ({"levels": ()}, "--levels"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, object], option: str) -> None:
    with pytest.raises(spec.SpecError) as wrong:
        spec.build(values)
    assert wrong.value.option == option
    assert wrong.value.remedy


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"cycles": 0}, "--cycles: must be 1 or more"),
        ({"cycles": 10_001}, "--cycles: must be 10000 or less"),
        ({"duration": 0}, "--duration: must be greater than 0"),
        ({"cycles": "many"}, "--cycles: must be a whole number"),
        ({"cycles": 1.5}, "--cycles: must be a whole number"),
        ({"duration": "long"}, "--duration: must be a number of seconds, or a time such as 10s or 1m"),
        ({"duration": float("nan")}, "--duration: must be a number of seconds, or a time such as 10s or 1m"),
        ({"scales": 3}, "--scales: must be a list, such as [1, 2, 5]"),
        ({"seed": -1}, "--seed: must be 0 or more"),
        ({"seed": 1 << 63}, "--seed: must be less than 9223372036854775808"),
        ({"workload": 3}, "--workload: must be text"),
        ({"retry": "perhaps"}, "--retry: must be true or false"),
        ({"workload_settings": 3}, "--set: must be a table of names and values"),
        ({"target": 5}, "TARGET: must be a table of names and values"),
        ({"pace": "hurried"}, "--pace: must be 'none' or 'terminals'"),
        ({"target": {"directory": 5}}, "TARGET.directory: must be a path"),
        ({"target": {"settings": 5}}, "TARGET.settings: must be a table of names and values"),
    ],
)
def test_wrong_values_are_told_in_plain_words(values: dict[str, object], said: str) -> None:
    with pytest.raises(spec.SpecError) as wrong:
        spec.build(values)
    assert str(wrong.value) == said


def test_a_specification_comes_back_from_its_description() -> None:
    run = spec.build({"target": {"url": "private:postgresql", "settings": {"fsync": False, "work_mem": "4MB"}}})
    assert run.target.settings == {"fsync": "off", "work_mem": "4MB"}
    assert spec.RunSpec.model_validate(run.described()) == run


def test_a_file_that_is_no_toml_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("scales = [1,")
    with pytest.raises(spec.SpecError, match=r"x\.toml"):
        spec.load_toml(tmp_path / "x.toml")


def test_a_file_takes_the_forms_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('clients = "10,20"\nscales = "1,2"\nramp-up = 1.5\n')
    run = spec.build(spec.load_toml(tmp_path / "x.toml"))
    assert (run.several_clients, run.scales, run.ramp_up) == ((10, 20), (1, 2), 1.5)
    assert spec.build({"clients": "7", "scales": "3"}).client_numbers == (7,)
    for name in ("clients", "scales"):
        with pytest.raises(spec.SpecError, match=f"--{name}: '1,x' is not a list of numbers"):
            spec.build({name: "1,x"})


def test_only_settings_that_can_be_given_are_offered() -> None:
    with pytest.raises(spec.SpecError) as wrong:
        spec.build({"rampup": 3})
    assert wrong.value.remedy == "did you mean ramp_up? dsbench run --example-config lists all"
    with pytest.raises(spec.SpecError) as wrong:
        spec.build({"several_client": 3})
    assert "several_clients" not in wrong.value.remedy


def test_a_private_server_can_be_written_in_one_word() -> None:
    target = spec.Target(url="private:postgresql@18?work_mem=8MB&search_path=a%2Cb", settings={"fsync": "off"})
    assert (target.url, target.version) == ("private:postgresql", "18")
    assert target.settings == {"work_mem": "8MB", "search_path": "a,b", "fsync": "off"}
    assert spec.Target(url=target.in_one) == target
    assert spec.Target.model_validate(target.model_dump()) == target
    assert spec.Target(url="private:sqlite").in_one == "private:sqlite"
    assert spec.Target(url="postgresql://me@host/db?port=1").url == "postgresql://me@host/db?port=1"
    with pytest.raises(ValueError, match="has one version"):
        spec.Target(url="private:postgresql@18", version="15")


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("postgresql://me%40corp:p%3A%2Fw@db:5433/a%20b?sslmode=require",
         ("postgresql", "me@corp", "p:/w", "db", 5433, "a b", {"sslmode": "require"})),
        ("postgres://me:first@db/a?host=/tmp/s&port=6000&user=you&password=&dbname=b",
         ("postgres", "you", "", "/tmp/s", 6000, "b",
          {"host": "/tmp/s", "port": "6000", "user": "you", "password": "", "dbname": "b"})),
        ("mysql://me@[::1]:3307/?host=h+x", ("mysql", "me", "", "::1", 3307, "", {"host": "h+x"})),
        ("mariadb://[fe80::1]", ("mariadb", "", "", "fe80::1", 0, "", {})),
        ("firebird://u:p@w@h//data/a.fdb", ("firebird", "u", "p@w", "h", 0, "/data/a.fdb", {})),
        ("sqlite:////data/a%3Fb.db?page_size=4096", ("sqlite", "", "", "", 0, "/data/a?b.db", {"page_size": "4096"})),
        ("mock:?latency_us=5&fail", ("mock", "", "", "", 0, "", {"latency_us": "5", "fail": ""})),
        ("postgresql://h:port[/x", ("postgresql", "", "", "h", 0, "x", {})),
        ("nonsense", ("nonsense", "", "", "", 0, "", {})),
        ("", ("", "", "", "", 0, "", {})),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart(url: str, parts: tuple[object, ...]) -> None:
    target = spec.Target(url=url)
    found = (target.scheme, target.user, target.password, target.host, target.port, target.database, target.parameters)
    assert found == parts


def test_the_file_of_a_database_in_this_process_is_named() -> None:
    files = {
        "sqlite:///a.db?x=1": Path("a.db"), "sqlite:////a%20b.db": Path("/a b.db"), "firebird:///a.fdb": Path("/a.fdb"),
        "firebird:////a.fdb": Path("/a.fdb"), "firebird:///C:/a.fdb": Path("C:/a.fdb"), "firebird://h/a.fdb": None,
        "postgresql:///a": None, "private:sqlite": None, "sqlite:///": None,
    }  # fmt: skip
    assert {url: spec.Target(url=url).file for url in files} == files
    here = {"private:postgresql": True, "postgresql:///d?host=/tmp": True, "mysql://u@localhost:1/": True,
            "postgresql:///d?host=far": False, "firebird://far/a": False}  # fmt: skip
    assert {url: spec.Target(url=url).is_here for url in here} == here


def test_a_plus_sign_is_itself_in_what_is_said_of_a_server(tmp_path: Path) -> None:
    target = spec.Target(url=f"private:postgresql?directory={tmp_path}/c++&log_line_prefix=a+b%20c%2Bd")
    assert (target.directory, target.settings) == (tmp_path / "c++", {"log_line_prefix": "a+b c+d"})
    assert spec.Target(url=target.in_one) == target


def test_a_url_gets_the_password_that_it_lacks() -> None:
    given = {
        "mysql://me@h/d?x=a@b": "mysql://me:p%2F%40@h/d?x=a@b", "mysql://h": "mysql://:p%2F%40@h",
        "mysql://me:@h/": "mysql://me:p%2F%40@h/", "mysql://me:own@h/": "mysql://me:own@h/", "mock:": "mock:",
        "postgresql:///d?password=own": "postgresql:///d?password=own",
    }  # fmt: skip
    assert {url: spec.Target(url=url).with_password("p/@").url for url in given} == given
    made = spec.Target(url="mysql://h/d").with_password("p/@")
    assert (made.password, made.redacted, made.host) == ("p/@", "mysql://:***@h/d", "h")


def test_several_numbers_of_threads_are_kept() -> None:
    run = spec.build({"clients": [10, 20, 40]})
    assert (run.clients, run.several_clients, run.client_numbers) == (40, (10, 20, 40), (10, 20, 40))
    described = run.described()
    assert described["clients"] == [10, 20, 40]
    assert "several_clients" not in described
    assert spec.RunSpec.model_validate(described) == run
    assert (run.at(20).clients, run.at(20).client_numbers) == (20, (20,))
    for one in (spec.build({"clients": (7,)}), spec.build({"clients": 7})):
        assert (one.clients, one.several_clients, one.client_numbers, one.described()["clients"]) == (7, (), (7,), 7)


@pytest.mark.parametrize("wrong", [[], [10, 5], [5, 5], [0, 1], ["a"], [1, 200_000]])
def test_numbers_of_threads_rise(wrong: list[object]) -> None:
    with pytest.raises(spec.SpecError, match="--clients"):
        spec.build({"clients": wrong})


def test_terminals_are_ten_for_each_unit_of_scale_or_as_many_as_wanted() -> None:
    paced = spec.build({"workload": "tpcc", "pace": "terminals"})
    assert (paced.terminals_at(1), paced.terminals_at(5)) == (10, 50)
    assert spec.build({"pace": "terminals", "terminals": 7}).terminals_at(5) == 7
    assert spec.build({}).terminals_at(5) is None


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"pace": "terminals", "rate": 5.0}, "--pace"),
        ({"terminals": 5}, "--terminals"),
        ({"workload": "tpcc", "workload_settings": {"delivery": "deferred"}}, "--set"),
        ({"pace": "hurried"}, "--pace"),
        ({"ramp_up": -1}, "--ramp-up"),
        ({"reconnect": True, "connections": 2}, "--reconnect"),
    ],
)
def test_settings_that_do_not_fit_together_are_named(values: dict[str, object], option: str) -> None:
    with pytest.raises(spec.SpecError) as refused:
        spec.build(values)
    assert refused.value.option == option


@pytest.mark.parametrize("url", ["sqlite:///x.db", "mock:", "postgresql://me@host/db", "mysql://me@host/db"])
@pytest.mark.parametrize(
    ("more", "option"),
    [
        ({"settings": {"mxi": "10"}}, "--set"),
        ({"settings": {"synchronous": "off", "storage_engine": "RocksDB"}}, "--set"),
        ({"version": "18"}, "TARGET.version"),
        ({"directory": "/tmp"}, "TARGET.directory"),
    ],
)
def test_what_only_a_private_server_takes_is_refused_for_others(url: str, more: dict[str, object], option: str) -> None:
    with pytest.raises(spec.SpecError) as refused:
        spec.build({"target": {"url": url, **more}, "workload": "tpcc", "workload_settings": {"mix": "1,1,1,1,1"}})
    assert refused.value.option == option
    assert "private" in str(refused.value)
    for name in more.get("settings", {}):  # type: ignore[attr-defined]
        assert repr(name) in str(refused.value)
    private = spec.build({"target": {"url": "private:mysql", **more}})
    assert private.target.private == "mysql"


def test_settings_of_the_workload_are_text() -> None:
    assert spec.build({"workload_settings": {"a": True, "b": 3}}).workload_settings == {"a": "on", "b": "3"}


@pytest.mark.parametrize(
    ("content", "option", "problem"),
    [
        (b"\xff = 1", "--config", "can't decode byte 0xff"),
        (b"scales = " + b"[" * 90_000, "--config", "it is nested too deeply"),
        (b"seed = " + b"1" * 5000, "--config", "4300 digits"),
        (b"# long\n" * 20_000, "--config", "it has more than 100,000 bytes"),
        (b'target = {url = "private:sqlite", settings = 5}', "TARGET.settings", "must be a table"),
        (b"profile = {a = 1}", "--profile", "must be text"),
        (b"workload = {}", "--workload", "must be text"),
        (b"workload_settings = 5", "--set", "must be a table"),
        (b"scales = 1", "--scales", "must be a list, such as [1, 2, 5]"),
        (b'target = "private:sqlite\\u0000"', "TARGET", "is not text in UTF-8"),
        (b'workload_settings = {"\\u0000" = 1}', "--set", "is not text in UTF-8"),
        (b'target = "' + b"x" * 5000 + b'"', "TARGET.url", "must have 4096 characters or fewer"),
    ],
)
def test_a_file_that_holds_anything_else_is_refused(tmp_path: Path, content: bytes, option: str, problem: str) -> None:
    (tmp_path / "run.toml").write_bytes(content)
    with pytest.raises(spec.SpecError) as refused:
        spec.merged({}, config=tmp_path / "run.toml", settings={"mix": "1,1,1,1,1"})
    assert (refused.value.option, problem in refused.value.problem) == (option, True), refused.value
    assert refused.value.remedy


def test_private_servers_have_the_names_that_people_give_them() -> None:
    for said, meant in (("postgres@18", "postgresql"), ("pg", "postgresql"), ("sqlite3", "sqlite")):
        assert spec.Target(url=f"private:{said}").private == meant
