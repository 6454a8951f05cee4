"""What is cleaned before a cycle, seen on the server."""

from __future__ import annotations

from pathlib import Path

from dsbench import servers
from dsbench.measure.loaders import TargetDatabase
from dsbench.spec import Target
from fixtures.started import Begin, wait_until_under_way

CLEANED = (
    "SELECT relname AS name, greatest(last_vacuum, last_analyze) IS NOT NULL AS cleaned,"
    " greatest(last_vacuum, last_analyze) < (SELECT min(xact_start) FROM pg_stat_activity"
    " WHERE application_name = 'dsbench' AND query LIKE '%tpcb_transaction%') AS before"
    " FROM pg_stat_user_tables WHERE schemaname = 'dsbench' AND relname <> 'dsbench_made' ORDER BY 1"
)


def test_the_tables_of_the_workload_are_vacuumed_before_its_clients_begin(begin: Begin, tmp_path: Path) -> None:
    with servers.start(Target(url="private:postgresql"), 20) as server:
        process = begin(server.url, "--scales", "1", "--cycles", "2", "--duration", "1.5", "--clients", "2", "--report", "none")
        wait_until_under_way(process, tmp_path, 2)
        database = TargetDatabase(server.url, existing=True)
        rows = database.fetch(CLEANED)
        database.close()
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert {row["name"]: row["cleaned"] for row in rows} == dict.fromkeys(("account", "branch", "history", "teller"), "t")
    assert {row["before"] for row in rows} == {"t"}, rows
