"""What files of others would have executed is named, and asked for again."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import dsbench
from dsbench import study
from dsbench.archive import Archive, RunRecord, Writer
from dsbench.measure.moments import Silent
from dsbench.measure.nodes.node import Node
from dsbench.servers import sqlite
from dsbench.servers.firebird import instance as firebird
from dsbench.servers.mysql import instance as mysql
from dsbench.spec import OPTIONS, RunSpec, SpecError, examples, merged
from dsbench.spec.trust import Untrusted, risks
from dsbench.spec.tuning import TUNING, tunes
from dsbench.web import folders, form
from fixtures.archives import STORED, run_json
from fixtures.program import Program

FORGED = {
    "postgresql": (
        "archive_command=touch /tmp/x", "archive_library=x", "archive_cleanup_command=x", "restore_command=x",
        "recovery_end_command=x", "shared_preload_libraries=x", "session_preload_libraries=x", "local_preload_libraries=x",
        "oauth_validator_libraries=x", "output_plugin_libraries=x", "jit_provider=x", "dynamic_library_path=x",
        "extension_control_path=x", "extension_destdir=x", "ssl_passphrase_command=x", "config_file=x", "hba_file=x",
        "ident_file=x", "external_pid_file=x", "data_directory=x", "log_directory=x", "log_filename=x",
        "log_destination=csvlog", "logging_collector=on", "log_statement=all", "log_line_prefix=x", "syslog_ident=x",
        "event_source=x", "ssl=on", "ssl_key_file=x", "krb_server_keyfile=x", "promote_trigger_file=x",
        "primary_conninfo=host=h", "primary_slot_name=x", "synchronous_standby_names=x", "include=x", "include_dir=x",
        "include_if_exists=x", "unix_socket_directories=x", "unix_socket_permissions=0777", "unix_socket_group=x",
        "plperl.on_init=x", "plperl.on_plperlu_init=x", "pltcl.start_proc=x", "Archive_Command=x", "ARCHIVE_COMMAND=x",
        "stats_temp_directory=x", "listen_addresses=*", "listen_addresses=0.0.0.0", "listen_addresses=127.0.0.1,10.0.0.5",
        "listen_addresses=::", "Listen_Addresses=*", "port=5432", "bonjour=on", "temp_tablespaces=x", "default_tablespace=x",
        "search_path=x", "allow_system_table_mods=on", "zero_damaged_pages=on", "ignore_checksum_failure=on",
        "session_replication_role=replica", "row_security=off", "role=x", "password_encryption=md5", "directory=/etc",
        "basedir=/tmp/evil", "second_log=/mnt", "tablespace.x=/mnt", "work_mem=/etc/passwd", "work_mem=8MB\narchive_command = x",
        "fsync=$(id)", "custom.setting=1", "unknown_setting=1",
    ),
    "mariadb": (
        "loose_skip_grant_tables=ON", "skip_grant_tables=ON", "skip-grant-tables=1", "skip_grant=1", "grant_tables=0",
        "loose_skip_networking=OFF", "skip_networking=0", "enable_networking=1", "disable_skip_networking=1",
        "loose_bind_address=127.0.0.1,0.0.0.0", "bind_address=0.0.0.0", "bind_address=*", "loose-bind-address=::",
        "bind_addr=127.0.0.1", "loose_port=13999", "port=3306", "extra_port=3307", "proxy_protocol_networks=*",
        "datadi=x", "tmpdi=x", "general_log_fil=x", "general_log=on", "slow_query_log=on", "log_output=FILE",
        "secure_file_priv=", "secure_file_priv=/", "local_infile=on", "basedir=x", "datadir=x", "tmpdir=x",
        "slave_load_tmpdir=x", "plugin_dir=x", "plugin_load=x", "plugin-load-add=x", "plugin_l=x", "plugin_maturity=unknown",
        "early_plugin_load=x", "init_file=x", "init_connect=x", "init-slave=x", "init_replica=x", "event_scheduler=ON",
        "wsrep_provider=x", "wsrep_notify_cmd=x", "wsrep_sst_method=x", "wsrep_sst_auth=root:x", "wsrep_on=ON",
        "lc_messages_dir=x", "character_sets_dir=x", "general_log_file=x", "slow_query_log_file=x", "log_error=x",
        "log_bin=x", "log_bin=../x", "log_bin_index=x", "relay_log=x", "chroot=x", "pid_file=x", "socket=x", "debug=x",
        "loose_init_file=x", "maximum_init_file=x", "innodb_data_home_dir=x", "innodb_log_group_home_dir=x",
        "innodb_undo_directory=x", "innodb_tmpdir=x", "innodb_data_file_path=ibdata1:12M", "keyring_file_data=x",
        "file_key_management_filename=x", "server_audit_file_path=x", "ft_stopword_file=x", "des_key_file=x",
        "defaults_file=x", "log_tc=x", "rocksdb_wal_dir=x", "rocksdb_datadir=x", "rocksdb_persistent_cache_path=x",
        "rocksdb_default_cf_options=persistent_cache={path=/x}", "report_host=x", "report_password=x", "require_secure_transport=off",
        "ssl_key=x", "user=root", "feedback=ON", "feedback_url=x", "gtid_domain_id=1", "innodb_buffer_pool_size=1G --user=root",
        "old_passwords=1", "secure_auth=0", "flashback=on", "allow_suspicious_udfs=1", "symbolic_links=1", "max_connection=100",
    ),
    "mysql": (
        "admin_address=0.0.0.0", "admin_port=1", "mysqlx_bind_address=0.0.0.0", "mysqlx=ON", "mysqlx_port=1", "mysqlx_socket=x",
        "innodb_directories=x", "component_keyring_file.path=x", "authentication_windows_log_level=1", "default_authentication_plugin=x",
        "mandatory_roles=root", "caching_sha2_password_private_key_path=x", "loose_mysqlx_bind_address=*", "persisted_globals_load=on",
        "log_error_services=x", "log_raw=on", "innodb_redo_log_archive_dirs=x", "innodb_temp_tablespaces_dir=x", "validate_user_plugins=0",
        "initialize_insecure=1", "daemonize=1", "named_pipe_full_access_group=x", "skip_grant_table=1", "LOOSE_SKIP_GRANT_TABLES=1",
    ),
    "firebird": (
        "basedir=x", "ExternalFileAccess=Full", "externalfileaccess=Full", "UdfAccess=Full", "DatabaseAccess=Full", "Providers=x",
        "AuthServer=x", "AuthClient=x", "UserManager=x", "WireCryptPlugin=x", "KeyHolderPlugin=x", "TracePlugin=x",
        "AuditTraceConfigFile=x", "MaxUserTraceLogSize=1", "SecurityDatabase=x", "TempDirectories=x", "RootDirectory=x",
        "Redirection=1", "GuardianOption=1", "RemoteBindAddress=0.0.0.0", "REMOTEBINDADDRESS=*", "RemoteServicePort=3050",
        "RemoteAuxPort=1", "RemoteServiceName=x", "RemotePipeName=x", "IpcName=x", "RemoteAccess=true", "WireCrypt=Disabled",
        "AllowEncryptedSecurityDatabase=true", "OutputRedirectionFile=x", "RemoteFileOpenAbility=1", "include=x",
        "DefaultProfilerPlugin=x", "DefaultDbCachePages=$(root)/x", "client_library=/tmp/x.so",
    ),
    "sqlite": ("temp_store_directory=x", "directory=/etc", "vfs=x", "journal_mode=/x", "Journal_Mode=../x", "key=x"),
}  # fmt: skip
"""Settings of forged archives, by product: each does more than tune, or does so under a name that its server takes."""
TUNED = {
    "postgresql": (
        "shared_buffers=1GB", "Shared_Buffers=1GB", "WORK_MEM=8MB", "fsync=off", "synchronous_commit=remote_apply",
        "wal_sync_method=fdatasync", "block_size=16k", "default_table_access_method=heap", "timezone=Europe/Berlin",
        "random_page_cost=1.1", "checkpoint_timeout=5min", "max_wal_size=8GB", "io_method=worker", "jit=off", "huge_pages=try",
        "autovacuum_vacuum_scale_factor=0.01", "autovacuum_vacuum_cost_delay=1ms", "effective_io_concurrency=200",
        "listen_addresses=127.0.0.1", "listen_addresses=localhost", "max_parallel_workers_per_gather=4", "wal_level=minimal",
    ),
    "mariadb": (
        "log_bin=on", "skip_log_bin=on", "innodb_flush_log_at_trx_commit=2", "innodb-flush-log-at-trx-commit=2",
        "storage_engine=RocksDB", "sync_binlog=0", "innodb_file_per_table=on", "loose_innodb_doublewrite=off",
        "skip_innodb_doublewrite=on", "disable_innodb_adaptive_hash_index=on", "maximum_sort_buffer_size=4M",
        "innodb_snapshot_isolation=on", "innodb_log_file_size=4M", "performance_schema=on", "thread_handling=pool-of-threads",
        "innodb_flush_method=O_DIRECT", "optimizer_switch=mrr=on,join_cache_hashed=off", "aria_pagecache_buffer_size=1M",
        "rocksdb_default_cf_options=compression=kLZ4Compression;block_based_table_factory={filter_policy=bloomfilter:10:false}",
        "rocksdb_flush_log_at_trx_commit=2", "key_buffer_size=1M", "bind_address=127.0.0.1", "INNODB_IO_CAPACITY=2000",
    ),
    "mysql": ("innodb_redo_log_capacity=1G", "performance_schema=off", "skip_log_bin=on", "innodb_dedicated_server=on", "skip_name_resolve=on"),
    "firebird": (
        "ServerMode=Classic", "servermode=Super", "page_size=8192", "TempCacheLimit=64M", "embedded=on", "page_buffers=3000",
        "sweep_interval=0", "DefaultDbCachePages=2048", "FileSystemCacheThreshold=64K", "LockMemSize=1M", "LockHashSlots=8191",
        "GCPolicy=combined", "forced_writes=off", "auto_undo=off", "RemoteBindAddress=localhost",
    ),
    "sqlite": ("journal_mode=wal", "synchronous=off", "cache_size=-100", "mmap_size=0", "page_size=4096", "busy_timeout_ms=1", "begin=deferred"),
}  # fmt: skip
PLAIN_URLS = ("private:postgresql@16", "private:firebird@3?ServerMode=Classic", "private:pg?fsync=off", "private:sqlite3", "mock:?latency_us=5")


def _each(table: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    return [(product, *text.split("=", 1)) for product, texts in table.items() for text in texts]  # type: ignore[misc]


def _ways(product: str, name: str, value: str) -> list[Any]:
    """The setting wherever it may stand in a file of somebody else."""
    url = f"private:{product}?{quote(name)}={quote(value, safe='')}"
    target = {"url": f"private:{product}", "settings": {name: value}}
    base: dict[str, Any] = {"target": f"private:{product}"}
    one = {"name": "x", "path": f"target.settings.{name}", "levels": [value, value]}
    several = {"name": "x", "levels": [{"name": "a", "set": {f"target.settings.{name}": value}}, {"name": "b"}]}
    return [
        RunSpec(target={"url": url}).described(), {"target": url}, {"target": target}, {"run": {"target": url}},
        {"run": base, "factor": [one]}, {"run": base, "factor": [several]}, [{"run": base}, one], [{"run": base}, several],
        {"run": base, "factor": [{"name": "x", "path": "target", "levels": [url, target]}]},
    ]  # fmt: skip


@pytest.mark.parametrize(("product", "name", "value"), _each(FORGED))
def test_a_forged_setting_is_asked_for_wherever_it_stands(product: str, name: str, value: str) -> None:
    for values in _ways(product, name, value):
        assert [one for one in risks(values) if one.partition(" ")[0].lower() == name.lower()], values


@pytest.mark.parametrize(("product", "name", "value"), _each(TUNED))
def test_a_setting_that_tunes_needs_no_word(product: str, name: str, value: str) -> None:
    for values in _ways(product, name, value):
        assert risks(values) == (), values


def test_no_setting_that_tunes_one_product_is_forged_of_another() -> None:
    for product, name, value in _each(FORGED):
        others = [one for one in TUNING if tunes(one, name, value)]
        assert others == [], (product, name)


def test_tuning_is_what_servers_and_options_know() -> None:
    assert set(TUNING["sqlite"]) == set(sqlite.SETTINGS)
    assert set(firebird.OF_THE_DATABASE) - {"wire_crypt"} <= TUNING["firebird"]


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_option_that_takes_any_text_is_asked_for_unless_it_is_for_people(name: str) -> None:
    plain = {"limits", "profile", "label", "objective", "price", "probes", "storage"}  # Of a storage only parts are more.
    takes_text = OPTIONS[name].kind in ("string", "object") and not OPTIONS[name].choices
    assert bool(risks({name: "/x $(y)"})) is (name == "nodes" or (takes_text and name not in plain))


@pytest.mark.parametrize("url", PLAIN_URLS)
def test_targets_of_dsbench_need_no_word(url: str) -> None:
    assert risks(RunSpec(target={"url": url}).described()) == ()


@pytest.mark.parametrize(
    "values",
    [{"target": "sqlite:////home/u/.ssh/authorized_keys"}, {"target": "sqlite:///x.db"}, {"target": "postgresql://me@h/d"},
     {"target": "mysql://me:pw@h/d"}, {"target": "firebird://h//d.fdb?client_library=/x.so"}, {"target": "mock:/etc"},
     {"target": {"url": "private:postgresql", "directory": "/etc"}}, {"target": "private:postgresql?directory=/etc"},
     {"target": "private:postgresql@../../x"}, {"target": {"url": "private:mysql", "version": "/x"}},
     {"storage": {"type": "ext4", "device": "/dev/vda"}}, {"storage": "ext4?device=/dev/vda"}, {"storage": {"mkfs": "-d x"}},
     {"storage": {"mount": "suid"}}, {"erase": "/dev/vda"}, {"driver": "psycopg@3.1.18"}, {"driver": "/bin/sh"},
     {"load": "/etc/passwd"}, {"checked": "/etc/passwd"}, {"power": "touch x"}, {"event": "1s:command 'touch x'"}, {"reads": "db2"}, {"nodes": "ssh h"}, {"script": "/home/me/.ssh/id_rsa"},
     {"workload": "/home/me/x.toml"}, {"workload": "x.sql"}, {"workload_settings": {"scripts": "5 a.sql\nSELECT"}},
     {"workload_settings": {"file": "5 a.toml\nx = 1"}}, {"workload_settings": {"tables": "../x"}}, {"out": "/etc"},
     {"run": {"target": "private:sqlite"}, "factor": [], "nodes": ["ssh h"]}, {"run": {}, "factor": [], "address": "10.0.0.1"},
     {"factor": [{"name": "x", "path": "target.directory", "levels": ["/a"]}]},
     {"factor": [{"name": "x", "path": "target.product", "levels": ["sqlite", "mysql?init_file=x"]}]},
     {"factor": [{"name": "x", "path": "storage", "levels": ["ext4", "ext4?device=/dev/vda"]}]},
     {"factor": [{"name": "x", "levels": [{"name": "y", "computed": {"target.settings.init_file": "x"}}]}]}],
)  # fmt: skip
def test_what_does_more_than_tune_is_named(values: Any) -> None:
    assert len(risks(values)) == 1, risks(values)


def test_a_run_that_only_tunes_needs_no_word() -> None:
    assert risks({
        "target": "private:postgresql", "storage": {"type": "ext4", "data": "journal", "block": "1k", "size": "4GiB"},
        "limits": {"memory": "1GiB", "write": "20MiB/s"}, "driver": "psycopg", "reads": "standby", "load": "0s:100, 60s:sine 1..9/10s, 90s:end",
        "workload": "tpcc", "workload_settings": {"size": "0.1", "mix": "45,43,4,4,4", "spaces": "account:fast"}, "label": "a/b",
    }) == ()  # fmt: skip


@pytest.mark.parametrize("name", [
    "loose_skip_grant_tables", "skip-grant-tables", "skip_grant", "enable_networking", "skip_net", "datadi", "tmpdi", "loose_datadir",
    "maximum_user", "sock", "pid", "log_err", "init_f", "LOOSE-INIT-FILE", "loose_bind_address", "bind_addr", "por", "loose_port",
    "loose_loose_socket", "skip_loose_init_file", "default", "basedi", "storage_eng",
])  # fmt: skip
def test_no_spelling_of_a_setting_of_dsbench_reaches_mariadb_or_mysql(name: str) -> None:
    with pytest.raises(SpecError, match="set by dsbench itself"):
        mysql.checked({name: "1"}, 1)


@pytest.mark.parametrize("name", ["skip_log_bin", "innodb_log_file_size", "loose_innodb_doublewrite", "log_bin", "general_log", "skip_name_resolve"])
def test_other_settings_reach_mariadb_and_mysql(name: str) -> None:
    assert mysql.checked({name: "on"}, 1)[name] == "on"


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


@pytest.mark.parametrize(
    ("target", "changed"),
    [("private:mariadb?plugin_load=x.so", "private:mariadb@11?plugin_load=x.so"),
     ("firebird://me:***@h//d.fdb?client%5flibrary=/tmp/x.so", "firebird://me:pw@h//d.fdb?client%5flibrary=/tmp/x.so")],
)  # fmt: skip
def test_a_form_that_repeats_a_run_asks_again_for_what_it_left(target: str, changed: str) -> None:
    theirs = risks(RunSpec(target={"url": target}).described())
    for url in (target, changed):
        with pytest.raises(Untrusted, match="the run that is repeated"):
            form.asked({"target": url}, theirs=theirs)
    assert form.asked({"target": "private:sqlite?synchronous=off"}, theirs=theirs)[0].spec.target.private == "sqlite"


def test_a_form_does_what_was_typed_or_is_trusted() -> None:
    texts = {"target": "private:mariadb?general_log=on", "scales": "1", "cycles": "1"}
    theirs = risks(RunSpec(target={"url": texts["target"]}).described())
    for asked in (form.asked(texts), form.asked(texts, theirs=theirs, trust=True)):
        assert asked[0].spec.target.settings == {"general_log": "on"}


def test_workload_and_scripts_of_a_file_lie_beside_it(called: Program, tmp_path: Path) -> None:
    (folder := tmp_path / "bench").mkdir()
    shutil.copy(examples()["orders"], folder / "mine.toml")
    for name, words in (("run", 'workload = "mine.toml"'), ("scripted", 'script = ["look.sql@3"]')):
        (folder / f"{name}.toml").write_text(f"{words}\nscales = [1]\nclients = 1\n[target]\nurl = 'private:sqlite'\n")
    (folder / "look.sql").write_text("SELECT 1;\n")
    assert dsbench.specify(config=folder / "run.toml", trust=True).workload == "workload-file"
    assert "look.sql" in dsbench.specify(config=folder / "scripted.toml", trust=True).workload_settings["scripts"]
    sides = (str(folder / "run.toml"), str(folder / "run.toml"))
    done = called("ab", *sides, "--dry-run")
    assert (done.returncode, "add --trust" in done.stderr) == (2, True)
    assert done.stderr.startswith("error: A: ")
    assert "error: B: no.toml" in called("ab", "mock:", "no.toml", "--dry-run").stderr
    assert called("ab", *sides, "--trust", "--dry-run").returncode == 0


def test_a_configuration_file_is_trusted_first(called: Program, tmp_path: Path) -> None:
    file = tmp_path / "theirs.toml"
    file.write_text('target = { url = "private:postgresql", settings = { work_mem = "8MB" } }\nscales = [1]\n')
    assert called("run", "--config", str(file), "--dry-run").returncode == 0
    for line in ('target = "sqlite:////tmp/x.db"', 'power = "touch x"', 'storage = "ext4?device=/dev/vda"\nerase = "/dev/vda"', 'script = "/etc/passwd"',
                 'target = { url = "private:sqlite", directory = "/etc" }'):  # fmt: skip
        file.write_text(line + "\nscales = [1]\n")
        done = called("run", "--config", str(file), "--dry-run")
        assert (done.returncode, "does more than tune" in done.stderr, "--trust" in done.stderr) == (2, True, True), line
    file.write_text('target = "postgresql://me@h/d"\npower = "touch x"\n')
    assert dsbench.specify("private:sqlite", config=file, power="true").power == "true"
    assert dsbench.specify(config=file, trust=True).target.url == "postgresql://me@h/d"
    file.write_text('target = { url = "private:postgresql", settings = { port = "1" } }\n')
    with pytest.raises(Untrusted, match="a port"):
        dsbench.specify("private:postgresql@15", config=file)


STUDY = """
name = "theirs"
run = {{ target = "mock:", scales = [1], cycles = 1, duration = 0.1 {} }}
factor = [{{ name = "a", path = {}, levels = {} }}]
"""


@pytest.mark.parametrize(
    ("more", "path", "levels"),
    [(', script = "/home/me/.ssh/id_rsa"', '"clients"', "[1, 2]"), ("", '"target"', '["mock:", "private:mysql?init_file=x"]'),
     ("", '"target.settings.basedir"', '["/a", "/b"]'), ("", '"target.product"', '["sqlite", "mysql?init_file=x"]'),
     ("", '"target"', '[{ name = "x", set = { "target.settings.plugin_load" = "x" } }, { name = "y" }]'), ("", '"target"', '["mock:", "firebird://h/d?client_library=/x.so"]'),
     ("", '"workload"', '["tpcb", "/home/me/x.toml"]')],
)  # fmt: skip
def test_the_browser_asks_again_before_it_goes_on_with_a_study(tmp_path: Path, more: str, path: str, levels: str) -> None:
    spec = study.of_text(STUDY.format(more, path, levels).encode(), "test")
    with pytest.raises(Untrusted):
        folders.refuse_commands(spec, tmp_path)
    folders.refuse_commands(spec, tmp_path, trust=True)


def test_a_study_on_the_command_line_is_trusted_first(called: Program, tmp_path: Path) -> None:
    file, dry = tmp_path / "theirs.toml", ("--dry-run", "--out", str(tmp_path / "s"))
    file.write_text(STUDY.format("", '"target.settings.init_file"', '["x", "y"]').replace("mock:", "private:mysql"))
    for words in ((), ("--set", "run.cycles=2")):
        done = called("study", "run", str(file), *words, *dry)
        assert (done.returncode, "init_file = 'x': files" in done.stderr, "--trust" in done.stderr) == (2, True, True), done.stderr
    file.write_text(STUDY.format("", '"clients"', "[1, 2]"))
    assert called("study", "run", str(file), *dry).returncode == 0
    said = called("study", "run", str(file), "--set", f"run.target=sqlite:///{tmp_path}/x.db", *dry)
    assert said.returncode == 0, said.stderr
    file.write_text(STUDY.format("", '"clients"', "[1, 2]").replace("mock:", f"sqlite:///{tmp_path}/x.db"))
    assert called("study", "run", str(file), *dry).returncode == 2
    assert called("study", "run", str(file), "--trust", *dry).returncode == 0


def test_levels_that_only_the_stored_study_has_are_seen_too(tmp_path: Path) -> None:
    spec = study.of_text(STUDY.format("", '"clients"', "[1, 2]").encode(), "test")
    made, _ = study.begin(spec, tmp_path)
    study.store(made)
    folders.refuse_commands(spec, tmp_path)
    values = json.loads((tmp_path / "study.json").read_text())
    targets = {"1": "mock:", "2": "private:mysql?init_file=x"}
    values["factors"][0]["levels"] = [{"name": name, "set": {"target": target}} for name, target in targets.items()]
    (tmp_path / "study.json").write_text(json.dumps(values))
    with pytest.raises(Untrusted):
        folders.refuse_commands(study.again(tmp_path), tmp_path)


def test_a_node_loads_no_library_that_a_coordinator_names() -> None:
    order = {"kind": "prepare", "spec": {"scales": [1]}, "url": "firebird://h//d.fdb?client%5Flibrary=/tmp/evil.so"}

    async def refused() -> None:
        node = Node()
        await node.enrol("run", 60)
        await node.begin("turn", order)
        with pytest.raises(Exception, match="do not load libraries"):
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
