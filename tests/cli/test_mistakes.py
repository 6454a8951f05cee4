"""Mistakes that people make first: each gives one clear error with the remedy that fits, and exit code 2."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from fixtures.program import Program

MISTAKES = {
    # Words of other programs.
    "run -c 8 -j 2 -T 60": ("-c: no option has this name", "-c is --clients, -T is --duration and -j is not needed"),
    "run -S -c 4": ("-S: no option", "-S is --builtin select-only and -c is --clients"),
    "run --threads 8": ("--threads: no option", "did you mean --clients?"),
    "run --time 60": ("--time: no option", "did you mean --duration?"),
    "run --scale 5": ("--scale: no option", "did you mean --scales?"),
    "run --warehouses 10": ("--warehouses: no option", "did you mean --scales?"),
    "run --zebra": ("--zebra: no option", "see dsbench run --help"),
    "runn": ("no such command 'runn'", "see dsbench --help"),
    "run --workload tpc-c": ("no workload 'tpc-c'", "did you mean tpcc"),
    "run --workload oltp_read_write": ("no workload 'oltp_read_write'", "did you mean sysbench-oltp-read-write?"),
    # The target.
    "run postgres": ("'postgres' is not the URL of a database", "private:postgres is a private server"),
    "run localhost:5432/shop": ("is not the URL of a database", "postgresql://localhost:5432/shop"),
    "run my.db": ("is not the URL of a database", "an SQLite file is sqlite:///"),
    "run oracle://me@host/db": ('no engine for "oracle"', "begin the target with one of postgresql"),
    "run private:oracle": ("no private server called 'oracle'", "use one of private:sqlite"),
    "run sqlite://my.db": ("names no file", "sqlite:///file.db"),
    "run 'postgresql://me@127.0.0.1:1/db?sslmod=require'": ('unknown parameter "sslmod"', "sslmode"),
    "run 'mysql://me@127.0.0.1:1/db?sslmod=require'": ('unknown parameter "sslmod"', "ssl_mode"),
    "run postgresql://me@host/db --set shared_buffers=1GB": ("'shared_buffers' is not a setting of tpcb", "in its URL"),
    "run postgresql://me@host/db --limit memory=1GiB": ("can limit private servers only", "private:postgresql"),
    "run --limit memory=1GiB": ("SQLite runs in dsbench's process", "systemd-run"),
    # Numbers, times and lists.
    "run --clients 0": ("must be 1 or more", "--clients: Simulated clients"),
    "run --clients 4-8": ("'4-8' is not a list of numbers", "write, for example, 1,2,5"),
    "run --clients four": ("'four' is not a list of numbers", "write, for example, 1,2,5"),
    "run --scales 1 10 100": ("too many: 100", "--scales 1,10,100"),
    "run --scales 5,2,1": ("scales must be in ascending order", "1,2,5"),
    "run --scales 1M": ("'1M' is not a list of numbers", "write, for example,"),
    "run --scales 0": ("between 1 and 200000", "write, for example, 1,2,5"),
    "run --duration 0": ("must be greater than 0", "--duration: Length of a cycle"),
    "run --duration ten": ("number of seconds, or a time such as 10s or 1m", "--duration: Length of a cycle"),
    "run --precision 200%": ("must be 50 or less", "--precision: Add cycles"),
    "run --levels 95": ("quantiles between 0 and 1", "0.5,0.9,0.99"),
    "run --max-cycles 2 --cycles 5 --precision 2%": ("must be 5 or more", "raise it, or lower --cycles"),
    # Values that need a unit or have another name.
    "run --objective p99=20": ("cannot read 'p99=20'", "with its unit, such as p99=20ms"),
    "run --objective 'p99<20ms'": ("cannot read 'p99<20ms'", "write p99=20ms"),
    "run --objective p200=20ms": ("cannot read 'p200=20ms'", "write p99=20ms"),
    "run --load '0s:100'": ("has no end", "add its end"),
    "run --load '0s:100, 60:500'": ("has no end", "add its end"),
    "run --load nosuch.txt": ("cannot read 'nosuch.txt'", "specify a file with TIME:RATE"),
    "run --event 5s:reboot": ("cannot read '5s:reboot'", "write TIME:EVENT such as 20s:restart"),
    "run private:postgresql --event 9s:kill": ("is not over within a cycle of 4 s", "specify --duration 19 or more"),
    "run --event 1s:kill": ("SQLite runs in dsbench's process", "private:postgresql"),
    "run private:postgresql --event 1s:failover": ("the server has no standby", "standbys=1"),
    "run private:mariadb?replicas=many --event 1s:failover": ("the server has no standby", "replicas=1"),
    "run private:mariadb?replicas=99": ("replicas is '99'", "use a number from 1 to 8"),
    "run private:mariadb?replicas=1&sync=remote_apply": ("sync is 'remote_apply'", "use off, on"),
    "run private:mariadb?galera=1": ("galera is '1'", "use a number of nodes from 3 to 9"),
    "run private:mariadb?galera=3&replicas=1": ("replicas and galera exclude each other", "omit one of them"),
    "run private:mariadb?galera=3&wsrep_on=off": ("wsrep_on is set by dsbench for galera", "omit it"),
    "run private:postgresql --event 1s:fill-disk": ("cannot read '1s:fill-disk'", "how long the disk is full"),
    "run private:mariadb?galera=3 --duration 30 --event 1s:failover,20s:failover": ("no standby is left", "galera=4"),
    "run private:mariadb?galera=4 --duration 30 --event 1s:failover,5s:failover": ("within ten seconds", "later"),
    "run private:postgresql?standbys=1 --storage ext4?size=1GiB --duration 30 --event '1s:fill-disk 1s'": (
        "standbys and poolers lie on the same disk", "omit them",
    ),
    "run private:postgresql --event '1s:fill-disk 1s'": ("fills no file system but its own", "--storage"),
    "check private:postgresql --isolation high": ("no level called 'high'", "use read-committed"),
    "check private:postgresql --isolation read-committed --reads standby": ("has no standby", "standbys=1"),
    "check private:postgresql?standbys=1 --isolation serializable --reads standby": (
        "standbys have no serializable transactions", "repeatable-read",
    ),
    "check private:postgresql --isolation read-committed --reads mysql://db2/": ("cannot read 'mysql://db2/'", "db2:5433"),
    "check private:postgresql --event kill": ("needs --isolation", "add --isolation serializable"),
    "check private:postgresql --isolation serializable --event reboot": ("no event called 'reboot'", "use restart, kill"),
    "check private:postgresql --isolation serializable --event failover": ("has no standby", "standbys=1"),
    "check private:sqlite --isolation serializable --event kill": ("no process of its own", "private:postgresql"),
    "run private:firebird --duration 9 --event '1s:partition 1s'": ("gives firebird no network", "private:postgresql"),
    "run private:postgresql?standbys=1 --duration 9 --event '1s:partition 1s'": ("is alone in a network", "omit standbys"),
    "check private:mariadb?replicas=1 --isolation read-committed --reads standby --event failover": (
        "do not look for another server after a hand-over", "omit --reads, or the hand-over",
    ),
    "run private:mariadb?lc_messages=de_DE": ("lc_messages is set by dsbench itself", "omit it"),
    "run --reads standby": ("sqlite: dsbench knows no standby of it", "omit --reads"),
    "run private:postgresql --reads standby": ("the server has no standby", "standbys=1"),
    "run private:postgresql?standbys=1 --reads db2": ("has its standbys on this machine", "write --reads standby"),
    "run postgresql://me@db1/b --reads standby": ("the target names no standby", "such as --reads db2"),
    "run mysql://me@db1,db2/ --reads standby": ("the target names no standby", "such as --reads db2"),
    "run private:postgresql?standbys=1 --reads standby --isolation serializable": ("no serializable", "repeatable-read"),
    "run private:postgresql?standbys=1 --reads standby --driver pgbench": ("connect to one server", "omit --driver"),
    "run private:postgresql?standbys=1 --reads standby": ("no clients of tpcb only read", "use select"),
    "run private:mariadb?replicas=1 --workload select --reads standby --duration 9 --event 1s:failover": (
        "do not look for another server", "PostgreSQL's do",
    ),
    "check private:postgresql --isolation serializable --durability": ("kills nothing", "omit it"),
    "check private:postgresql --transactions 5": ("needs --isolation", "add --isolation serializable"),
    "check mock: --isolation serializable": ("the engine keeps no data", "name a database"),
    "run --isolation read_committed": ("must be 'read-committed'", "--isolation: read-committed, repeatable-read"),
    "run --profile dsii": ("no profile 'dsii'", "use one of dsi,"),
    "run --driver libpq": ("no client program 'libpq'", "use one of own, psycopg"),
    "run --driver pgbench": ("pgbench does not support sqlite", "use one of own, sqlite3"),
    "run --price apples": ("cannot read 'apples'", "write 1.2 EUR/h"),
    "run --probes fioo": ("no disk benchmark 'fioo'", "use none, all, or some of"),
    "run private:postgresql --limit ram=1GB": ("'ram' cannot be limited", "use some of memory"),
    "run private:postgresql --limit memory='1 gigabyte'": ("memory is '1 gigabyte'", "memory=256MiB"),
    "run private:postgresql --storage ext9": ("no file system of type 'ext9'", "use one of ext2"),
    "run --power nosuchprogram": ("no program 'nosuchprogram'", "it prints watts"),
    "run --report pdf": ("cannot read 'pdf'", "write full or none"),
    "run --set size": ("'size' is no setting", "write NAME=VALUE"),
    # What does not go together.
    "run --rate 100 --objective p99=20ms": ("searches for the rate itself", "omit --rate, or --objective"),
    "run --peak --rate 100": ("searches for the highest rate", "omit --rate, or --peak"),
    "run --terminals 5": ("none without --pace terminals", "add that, or omit --terminals"),
    "run --reconnect --connections 3": ("opens one connection", "omit --connections or --reconnect"),
    "run --existing": ("creates its own tables", "use --script or --builtin"),
    "run --keep": ("ends with its run", "private:sqlite?directory=FOLDER"),
    "run --erase /dev/sda": ("no device /dev/sda is used", "add --storage TYPE?device="),
    "doctor --clients 3": ("is about a server or the client", "specify TARGET, or add --calibrate"),
    "doctor --duration 3": ("is an option of the calibration", "add --calibrate"),
    "doctor --existing": ("is about a server", "specify TARGET"),
    "doctor private:postgresql": ("dsbench starts this server", "specify the URL of a server"),
    "show file.zip --as csv --json": ("exclude each other", "use one"),
    # Files.
    "run --config nosuch.toml": ("No such file", "specify a readable TOML file"),
    "run --config broken.toml": ("Unclosed array (at line 2", "--example-config"),
    "run --config key.toml": ("scale: there is no setting of this name", "did you mean scales?"),
    "run --config report.html": ("too many for a file of settings", "the folder or zip of an archive"),
    "run --script nosuch.sql": ('could not open file "nosuch.sql"', "specify a readable SQL file"),
    "run --script sett.sql": ('invalid command in command "sett"', "correct the script: see docs/scripts.md"),
    "run --script undefined.sql": ('undefined variable "nosuch"', "set it with \\set or --define"),
    "run --workload key.toml": ('no key "scale" is known here', "docs/workload-files.md"),
    "run --out file": ("--out: cannot write to file", "specify a writable folder"),
    "run --resume nosuch": ("no archive at nosuch", "specify the folder or the .zip"),
    "run sqlite:////nosuch/folder/x.db": ("/nosuch/folder is not a directory", "create it"),
    "show": ("missing argument ARCHIVE", "see dsbench show --help"),
    "show file": ("file is not a dsbench archive", "specify the folder or the .zip"),
    "compare nosuch": ("no archive at nosuch", "specify the folder or the .zip"),
    "ab private:sqlite": ("missing argument B", "see dsbench ab --help"),
    "ab private:sqlite private:sqlite --difference 200%": ("not a percentage from 0.05% to 100%", "write, for example, 2%"),
    "ab private:sqlite private:sqlite --blocks 1": ("must be 3 or more", "see dsbench ab --help"),
    "study run nosuch": ("nosuch: No such file", "dsbench study templates"),
    "study show nosuch": ("no study in nosuch", "the folder that dsbench study run created"),
    "study papers 009": ("there is no '009'", "use one of 000"),
    "study papers 000 fig-99": ("000 has no 'fig-99'", "did you mean fig-9"),
    "query nosuch": ("no archive at nosuch", "name a folder in which runs left archives"),
    "trend nosuch": ("nosuch is not a folder", "specify the folder"),
    "check nosuch": ("'nosuch' is not the URL", "private:postgresql"),
    "web --port 99999": ("cannot listen on port 99999", "name another one"),
    "web --archives no/such/x": ("there is no folder", "create it first"),
    "commons check nosuch": ("nosuch is not a commons", "dsbench commons init nosuch"),
    "servers install oracle --yes": ("'oracle' cannot be installed", "use one of firebird"),
    "cluster node --join nosuch": ("nosuch: No such file", "dsbench cluster invite"),
}


@pytest.fixture
def files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "file.zip").write_text("x")
    (tmp_path / "broken.toml").write_text("scales = [1, 2\nclients = 3\n")
    (tmp_path / "key.toml").write_text("scale = 3\n")
    (tmp_path / "report.html").write_text("<html>" + "x" * 200_000)
    (tmp_path / "sett.sql").write_text("\\sett aid random(1, 100)\nSELECT 1;\n")
    (tmp_path / "undefined.sql").write_text("SELECT abalance FROM pgbench_accounts WHERE aid = :nosuch;\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_told_with_its_remedy(called: Program, tmp_path: Path, line: str) -> None:
    problem, remedy = MISTAKES[line]
    done = called(*shlex.split(line))
    words = " ".join(done.stderr.split())
    error, _, hint = words.partition("error: ")[2].partition(" hint: ")
    assert problem in error
    assert remedy in hint or remedy in error, words
    assert done.returncode == 2
    assert words.count("error: ") == 1
    assert (done.stdout, "Traceback" in done.stderr, "--resume" in done.stderr) == ("", False, False)
    assert not list(tmp_path.glob("archives/*/*.parquet"))
