"""What files of others would have executed is named, and asked for again."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench import study
from dsbench.archive import Archive, RunRecord, Writer
from dsbench.measure.events import Silent
from dsbench.measure.nodes.node import Node
from dsbench.spec import RunSpec, examples, merged
from dsbench.spec.trust import Untrusted, risks
from dsbench.web import form, studies
from fixtures.archives import STORED, run_json
from fixtures.program import Program

RISKY = {
    "postgresql": (
        "archive_command", "archive_library", "archive_cleanup_command", "restore_command", "recovery_end_command",
        "shared_preload_libraries", "session_preload_libraries", "local_preload_libraries", "oauth_validator_libraries",
        "jit_provider", "dynamic_library_path", "extension_control_path", "extension_destdir", "ssl_passphrase_command",
        "config_file", "hba_file", "ident_file", "external_pid_file", "data_directory", "log_directory", "log_filename",
        "log_destination", "ssl_key_file", "krb_server_keyfile", "promote_trigger_file", "primary_conninfo", "include",
        "include_dir", "include_if_exists", "unix_socket_directories", "plperl.on_init", "plperl.on_plperlu_init",
        "pltcl.start_proc", "Archive_Command", "stats_temp_directory",
    ),
    "mariadb": (
        "basedir", "datadir", "tmpdir", "slave_load_tmpdir", "plugin_dir", "plugin_load", "plugin-load-add", "plugin_l",
        "early_plugin_load", "init_file", "init_connect", "init-slave", "init_replica", "wsrep_provider", "wsrep_notify_cmd",
        "wsrep_sst_method", "lc_messages_dir", "character_sets_dir", "general_log_file", "slow_query_log_file", "log_error",
        "log_bin", "log_bin_index", "relay_log", "secure_file_priv", "chroot", "pid_file", "socket", "debug", "loose_init_file",
        "innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory", "innodb_tmpdir", "keyring_file_data",
        "file_key_management_filename", "server_audit_file_path", "ft_stopword_file", "des_key_file", "defaults_file",
        "innodb_directories", "log_tc", "component_keyring_file.path",
    ),
    "firebird": (
        "basedir", "ExternalFileAccess", "UdfAccess", "DatabaseAccess", "Providers", "AuthServer", "AuthClient", "UserManager",
        "WireCryptPlugin", "KeyHolderPlugin", "TracePlugin", "AuditTraceConfigFile", "SecurityDatabase", "TempDirectories",
        "RootDirectory", "Redirection", "GuardianOption",
    ),
}  # fmt: skip
PLAIN = (
    "private:postgresql?shared_buffers=1GB&fsync=off&timezone=Europe/Berlin&log_line_prefix=%25m [%25p]&directory=/data",
    "private:postgresql@16?block_size=16k&wal_sync_method=fdatasync&default_table_access_method=heap",
    "private:mariadb?log_bin=on&innodb_flush_log_at_trx_commit=2&storage_engine=RocksDB&sync_binlog=0&innodb_file_per_table=on",
    "private:mysql?innodb_data_file_path=ibdata1:12M:autoextend&performance_schema=off&skip_log_bin=on",
    "private:firebird?ServerMode=Classic&page_size=8192&TempCacheLimit=64M&embedded=on",
    "postgresql://me@h/d?host=/run/pg&sslrootcert=/etc/ca.pem&passfile=/home/me/.pgpass", "sqlite:////data/run.db",
)  # fmt: skip


@pytest.mark.parametrize(("product", "name"), [(product, name) for product, names in RISKY.items() for name in names])
def test_settings_that_name_programs_libraries_and_files_are_seen_wherever_they_stand(product: str, name: str) -> None:
    asked = merged({}, target=f"private:{product}?{name}=thing").spec.described()
    levels = {"factor": [{"name": "x", "path": f"target.settings.{name}", "levels": ["thing", "other"]}]}
    for values in (asked, {"target": {"settings": {name: "thing"}}}, {"run": {"target": f"private:{product}?{name}=thing"}}, levels):
        assert any("thing" in one for one in risks(values)), values


def test_paths_are_seen_under_any_name() -> None:
    for value in ("/etc/passwd", "a:/tmp/x", "../x", "~/x", "a\narchive_command = x", r"C:\x"):
        assert risks({"target": {"url": "private:postgresql", "settings": {"some_setting": value}}}), value


@pytest.mark.parametrize("url", PLAIN)
def test_settings_of_a_usual_run_need_no_word(url: str) -> None:
    assert risks(RunSpec(target={"url": url}).described()) == ()


def test_what_ships_needs_no_word() -> None:
    for name, text in study.templates().items():
        assert risks(study.of_text(text.encode(), name).model_dump(mode="json")) == (), name
    for path in STORED.glob("*.zip"):
        assert risks(Archive.open(path).run.spec.described()) == (), path
    for name in examples():
        assert risks(merged({"workload": name}).spec.described()) == (), name


def _archive(tmp_path: Path, **spec: Any) -> Path:
    writer = Writer.create(tmp_path, "theirs")
    writer.describe(RunRecord.of(run_json({"scales": (1,), "cycles": 1, "duration": 0.1, **spec}, status="cut-short")))
    return writer.path


def test_a_run_of_a_stranger_is_repeated_and_resumed_once_it_is_trusted(called: Program, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    path = _archive(tmp_path, target={"url": "private:postgresql", "settings": {"archive_command": f"touch {evil}"}})
    for words in (["--config", str(path), "--dry-run"], ["--resume", str(path)], ["--config", str(path / "run.json")]):
        done = called("run", *words)
        assert (done.returncode, "archive_command" in done.stderr, "--trust" in done.stderr) == (2, True, True), done.stderr
    assert called("run", "--config", str(path), "--trust", "--dry-run").returncode == 0
    assert called("run", "private:sqlite", "--config", str(path), "--dry-run").returncode == 0
    assert dsbench.specify(config=path, trust=True).target.settings == {"archive_command": f"touch {evil}"}
    with pytest.raises(Untrusted):
        dsbench.resume(path)
    assert not evil.exists()


def test_statements_of_a_stranger_are_trusted_first(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("COPY (SELECT 1) TO PROGRAM 'true';\n")
    asked = merged({"script": [str(script)]}, target="mock:").spec.described()
    path = _archive(tmp_path, **{name: asked[name] for name in ("target", "workload", "workload_settings")})
    with pytest.raises(Untrusted, match="statements of a script"):
        dsbench.specify(config=path)
    assert dsbench.specify(config=path, trust=True).workload == asked["workload"]


def test_the_browser_asks_again() -> None:
    texts = {"target": "private:mariadb?plugin_load=x.so", "scales": "1", "cycles": "1"}
    with pytest.raises(Untrusted, match="plugin_load"):
        form.asked(texts)
    assert form.asked(texts, trust=True)[0].spec.target.settings == {"plugin_load": "x.so"}
    with pytest.raises(Untrusted, match="client_library"):
        form.asked({"target": "firebird://h//d.fdb?client%5flibrary=/tmp/x.so"})


STUDY = """
name = "theirs"
run = {{ target = "mock:", scales = [1], cycles = 1, duration = 0.1 {} }}
factor = [{{ name = "a", path = {}, levels = {} }}]
"""


@pytest.mark.parametrize(
    ("more", "path", "levels"),
    [(', script = "/home/me/.ssh/id_rsa"', '"threads"', "[1, 2]"), ("", '"target"', '["mock:", "private:mysql?init_file=x"]'),
     ("", '"target.settings.basedir"', '["/a", "/b"]'), ("", '"target.product"', '["sqlite", "mysql?init_file=x"]'),
     ("", '"target"', '[{ name = "x", set = { "target.settings.plugin_load" = "x" } }, { name = "y" }]'), ("", '"target"', '["mock:", "firebird://h/d?client_library=/x.so"]'),
     ("", '"workload"', '["tpcb", "/home/me/x.toml"]')],
)  # fmt: skip
def test_the_browser_asks_again_before_it_goes_on_with_a_study(tmp_path: Path, more: str, path: str, levels: str) -> None:
    spec = study.of_text(STUDY.format(more, path, levels).encode(), "test")
    with pytest.raises(Untrusted):
        studies.refuse_commands(spec, tmp_path)
    studies.refuse_commands(spec, tmp_path, trust=True)


def test_levels_that_only_the_stored_study_has_are_seen_too(tmp_path: Path) -> None:
    spec = study.of_text(STUDY.format("", '"threads"', "[1, 2]").encode(), "test")
    made, _ = study.begin(spec, tmp_path)
    study.store(made)
    studies.refuse_commands(spec, tmp_path)
    values = json.loads((tmp_path / "study.json").read_text())
    targets = {"1": "mock:", "2": "private:mysql?init_file=x"}
    values["factors"][0]["levels"] = [{"name": name, "set": {"target": target}} for name, target in targets.items()]
    (tmp_path / "study.json").write_text(json.dumps(values))
    with pytest.raises(Untrusted):
        studies.refuse_commands(study.again(tmp_path), tmp_path)


def test_a_node_loads_no_library_that_a_coordinator_names() -> None:
    order = {"kind": "prepare", "spec": {"scales": [1]}, "url": "firebird://h//d.fdb?client%5Flibrary=/tmp/evil.so"}

    async def refused() -> None:
        node = Node()
        await node.enrol("run", 60)
        await node.begin("turn", order)
        with pytest.raises(Exception, match="loads no library"):
            await node.result("turn")

    asyncio.run(refused())


def test_a_run_that_is_trusted_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("SELECT 1;\n")
    stop = dsbench.Stop()
    threading.Timer(0.0, stop.request, ("enough",)).start()
    archive = dsbench.run("private:sqlite", out=tmp_path, script=[str(script)], cycles=2, duration=0.5, scales=(1,), stop=stop)
    if archive.run.status == "complete":
        pytest.skip("the run was over before the wish that it ends")
    with pytest.raises(Untrusted):
        dsbench.resume(archive.path)
    assert dsbench.resume(archive.path, trust=True, observer=Silent()).run.status == "complete"
