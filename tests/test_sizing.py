"""Profiles whose scale follows from the server's memory."""

from __future__ import annotations

from typing import Any

import pytest

from dsbench import control_groups, spec, workloads
from dsbench.spec import SpecError, merged

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "memory", lambda: 16 * GIB)


def bytes_of(asked: spec.RunSpec) -> float:
    """Of the database after l.i0 with its indexes."""
    entry = workloads.find(asked.workload)
    return asked.scales[0] * entry.data.loaded_rows * asked.all_clients * sum(entry.data.row_bytes) / 2


@pytest.mark.parametrize(
    ("more", "memory"),
    [
        ({}, 16 * GIB),
        ({"limits": {"memory": "256MiB"}}, GIB // 4),
        ({"limits": {"memory": "64GiB"}}, 16 * GIB),
        ({"limits": {"cpus": "1"}}, 16 * GIB),
        ({"clients": "2,4"}, 16 * GIB),
    ],
)
def test_the_database_is_a_share_of_the_memory(more: dict[str, Any], memory: int) -> None:
    for profile, share in (("cached", 0.25), ("io-bound", 4)):
        asked = spec.build({"target": {"url": "private:postgresql"}, **more}, profile=profile)
        assert asked.workload == "insert"
        assert asked.workload_settings == {"sizes": profile}
        assert bytes_of(asked) == pytest.approx(share * memory, rel=0.25)
        assert asked.target.settings == {"shared_buffers": f"{memory // 4 >> 20}MB"}


def test_caches_are_those_of_the_storage_engine_and_what_is_named_stays() -> None:
    def settings(target: str) -> dict[str, str]:
        found = merged({"profile": "io-bound", "limits": {"memory": "1GiB"}}, target=target).spec.target.settings
        return {name: value for name, value in found.items() if name != "storage_engine"}

    beside = dict.fromkeys(("aria_pagecache_buffer_size", "key_buffer_size"), str(GIB // 64))
    assert settings("private:mariadb") == {"innodb_buffer_pool_size": str(GIB * 3 // 8), **beside}
    assert settings("private:mysql") == {"innodb_buffer_pool_size": str(GIB * 3 // 8)}
    assert settings("private:mariadb?storage_engine=RocksDB") == {
        "rocksdb_block_cache_size": str(GIB // 8), "rocksdb_db_write_buffer_size": str(GIB // 16),
        "rocksdb_default_cf_options": f"write_buffer_size={GIB // 32}",
        "rocksdb_merge_buf_size": str(GIB // 64), "rocksdb_merge_combine_read_size": str(GIB // 32),
        "innodb_buffer_pool_size": str(GIB // 32), "innodb_log_buffer_size": str(GIB // 64), **beside,
    }  # fmt: skip
    assert settings("private:postgresql?shared_buffers=1MB") == {"shared_buffers": "1MB"}


def test_what_is_said_wins_over_the_profile() -> None:
    said = {"profile": "cached", "scales": "7", "duration": 5.0, "workload_settings": {"settle": "short"}}
    found = merged(said, target="postgresql://elsewhere/db", settings={"writes": "100"})
    assert (found.spec.scales, found.spec.duration) == ((7,), 5.0)
    assert found.spec.workload_settings == {"sizes": "cached", "settle": "short", "writes": "100"}
    assert found.origins["cycles"] == "profile cached"
    assert found.origins["scales"] == "command line"


@pytest.mark.parametrize(
    ("values", "target", "hint"),
    [
        ({"workload": "tpcb"}, "private:postgresql", "--workload insert"),
        ({}, "postgresql://me@elsewhere/db", "--scales"),
        ({"limits": {"memory": "much"}}, "private:postgresql", "memory=256MiB"),
        ({"clients": "x"}, "private:postgresql", "1,2,5"),
    ],
)
def test_what_has_no_size_is_refused(values: dict[str, Any], target: str, hint: str) -> None:
    with pytest.raises(SpecError) as refused:
        merged({"profile": "io-bound", **values}, target=target)
    assert hint in refused.value.remedy
