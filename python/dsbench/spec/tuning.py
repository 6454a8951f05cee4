"""The settings of private servers that tune and do nothing else, by product: whatever is not here asks for --trust.

None names an address, a file, a program, a user or a log, and each takes a number, a size, a switch or one of a few
words. The names are those of the manuals:

- PostgreSQL, chapter "Server Configuration": https://www.postgresql.org/docs/current/runtime-config.html
- MariaDB: https://mariadb.com/docs/server/server-management/variables-and-modes/full-list-of-mariadb-options-system-and-status-variables
- MySQL, section "Server Option, System Variable, and Status Variable Reference":
  https://dev.mysql.com/doc/refman/8.4/en/server-option-variable-reference.html
- MyRocks: https://mariadb.com/docs/server/server-usage/storage-engines/myrocks/myrocks-system-variables
- Firebird: the comments of its ``firebird.conf``
- PgBouncer: https://www.pgbouncer.org/config.html
- SQLite: https://www.sqlite.org/pragma.html
"""

from __future__ import annotations

import re
from typing import Final

from dsbench.spec.target import OTHERWISE

_POSTGRESQL: Final = """
shared_buffers huge_pages huge_page_size temp_buffers max_prepared_transactions work_mem hash_mem_multiplier
maintenance_work_mem autovacuum_work_mem logical_decoding_work_mem max_stack_depth shared_memory_type
dynamic_shared_memory_type min_dynamic_shared_memory vacuum_buffer_usage_limit commit_timestamp_buffers
multixact_member_buffers multixact_offset_buffers notify_buffers serializable_buffers subtransaction_buffers
transaction_buffers temp_file_limit max_notify_queue_pages file_copy_method file_extend_method max_files_per_process
max_connections reserved_connections superuser_reserved_connections client_connection_check_interval
bgwriter_delay bgwriter_flush_after bgwriter_lru_maxpages bgwriter_lru_multiplier
backend_flush_after effective_io_concurrency maintenance_io_concurrency io_combine_limit io_max_combine_limit
io_max_concurrency io_method io_workers max_worker_processes max_parallel_workers max_parallel_workers_per_gather
max_parallel_maintenance_workers parallel_leader_participation old_snapshot_threshold
fsync full_page_writes synchronous_commit wal_level wal_sync_method wal_compression wal_init_zero wal_log_hints
wal_recycle wal_buffers wal_writer_delay wal_writer_flush_after wal_skip_threshold commit_delay commit_siblings
checkpoint_timeout checkpoint_completion_target checkpoint_flush_after checkpoint_warning max_wal_size min_wal_size
wal_segment_size recovery_prefetch wal_decode_buffer_size summarize_wal wal_keep_size max_wal_senders
max_replication_slots track_commit_timestamp block_size
enable_async_append enable_bitmapscan enable_distinct_reordering enable_gathermerge enable_group_by_reordering
enable_hashagg enable_hashjoin enable_incremental_sort enable_indexonlyscan enable_indexscan enable_material
enable_memoize enable_mergejoin enable_nestloop enable_parallel_append enable_parallel_hash enable_partition_pruning
enable_partitionwise_aggregate enable_partitionwise_join enable_presorted_aggregate enable_self_join_elimination
enable_seqscan enable_sort enable_tidscan seq_page_cost random_page_cost cpu_tuple_cost cpu_index_tuple_cost
cpu_operator_cost parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size min_parallel_index_scan_size
effective_cache_size jit jit_above_cost jit_inline_above_cost jit_optimize_above_cost jit_expressions
jit_tuple_deforming geqo geqo_threshold geqo_effort geqo_pool_size geqo_generations geqo_selection_bias geqo_seed
default_statistics_target constraint_exclusion cursor_tuple_fraction from_collapse_limit join_collapse_limit
plan_cache_mode recursive_worktable_factor debug_parallel_query force_parallel_mode
autovacuum autovacuum_max_workers autovacuum_worker_slots autovacuum_naptime autovacuum_vacuum_threshold
autovacuum_vacuum_insert_threshold autovacuum_vacuum_max_threshold autovacuum_analyze_threshold
autovacuum_vacuum_scale_factor autovacuum_vacuum_insert_scale_factor autovacuum_analyze_scale_factor
autovacuum_freeze_max_age autovacuum_multixact_freeze_max_age autovacuum_vacuum_cost_delay
autovacuum_vacuum_cost_limit vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty vacuum_cost_page_hit
vacuum_cost_page_miss vacuum_truncate vacuum_failsafe_age vacuum_freeze_min_age vacuum_freeze_table_age
vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age vacuum_multixact_freeze_table_age
vacuum_max_eager_freeze_failure_rate vacuum_defer_cleanup_age
deadlock_timeout max_locks_per_transaction max_pred_locks_per_transaction max_pred_locks_per_relation
max_pred_locks_per_page lock_timeout statement_timeout transaction_timeout idle_in_transaction_session_timeout
idle_session_timeout default_transaction_isolation default_transaction_deferrable default_toast_compression
default_table_access_method gin_fuzzy_search_limit gin_pending_list_limit synchronize_seqscans
track_activities track_counts track_io_timing track_wal_io_timing track_cost_delay_timing track_functions
track_activity_query_size stats_fetch_consistency compute_query_id update_process_title timezone
listen_addresses
"""

_MARIADB_AND_MYSQL: Final = """
innodb_adaptive_flushing innodb_adaptive_flushing_lwm innodb_adaptive_hash_index innodb_adaptive_hash_index_parts
innodb_autoextend_increment innodb_autoinc_lock_mode innodb_buffer_pool_chunk_size innodb_buffer_pool_dump_at_shutdown
innodb_buffer_pool_dump_pct innodb_buffer_pool_load_at_startup innodb_buffer_pool_instances innodb_buffer_pool_size
innodb_change_buffer_max_size innodb_change_buffering innodb_checksum_algorithm innodb_compression_level
innodb_compression_failure_threshold_pct innodb_compression_pad_pct_max innodb_concurrency_tickets
innodb_deadlock_detect innodb_default_row_format innodb_doublewrite innodb_fast_shutdown innodb_file_per_table
innodb_fill_factor innodb_flush_log_at_timeout innodb_flush_log_at_trx_commit innodb_flush_method
innodb_flush_neighbors innodb_flush_sync innodb_flushing_avg_loops innodb_io_capacity innodb_io_capacity_max
innodb_lock_wait_timeout innodb_log_buffer_size innodb_log_file_size innodb_log_files_in_group
innodb_log_write_ahead_size innodb_lru_scan_depth innodb_max_dirty_pages_pct innodb_max_dirty_pages_pct_lwm
innodb_max_purge_lag innodb_max_purge_lag_delay innodb_max_undo_log_size innodb_numa_interleave innodb_old_blocks_pct
innodb_old_blocks_time innodb_online_alter_log_max_size innodb_open_files innodb_page_size innodb_page_cleaners
innodb_purge_batch_size innodb_purge_threads innodb_purge_rseg_truncate_frequency innodb_random_read_ahead
innodb_read_ahead_threshold innodb_read_io_threads innodb_write_io_threads innodb_rollback_on_timeout
innodb_rollback_segments innodb_sort_buffer_size innodb_spin_wait_delay innodb_sync_spin_loops innodb_sync_array_size
innodb_stats_auto_recalc innodb_stats_method innodb_stats_on_metadata innodb_stats_persistent
innodb_stats_persistent_sample_pages innodb_stats_transient_sample_pages innodb_strict_mode innodb_table_locks
innodb_thread_concurrency innodb_thread_sleep_delay innodb_undo_log_truncate innodb_undo_tablespaces
innodb_use_native_aio
back_log big_tables binlog_cache_size binlog_checksum binlog_format binlog_row_image binlog_stmt_cache_size
bulk_insert_buffer_size concurrent_insert connect_timeout default_tmp_storage_engine delay_key_write
eq_range_index_dive_limit external_locking flush flush_time group_concat_max_len host_cache_size interactive_timeout
join_buffer_size key_buffer_size key_cache_age_threshold key_cache_block_size key_cache_division_limit large_pages
lock_wait_timeout log_bin low_priority_updates lower_case_table_names max_allowed_packet max_binlog_cache_size
max_binlog_size max_connections max_connect_errors max_heap_table_size max_join_size max_length_for_sort_data
max_prepared_stmt_count max_seeks_for_key max_sort_length max_user_connections memlock myisam_sort_buffer_size
name_resolve net_buffer_length net_read_timeout net_retry_count net_write_timeout open_files_limit
optimizer_prune_level optimizer_search_depth optimizer_switch performance_schema preload_buffer_size
query_alloc_block_size query_prealloc_size range_alloc_block_size read_buffer_size read_rnd_buffer_size
sort_buffer_size storage_engine stored_program_cache sync_binlog table_definition_cache table_open_cache
table_open_cache_instances thread_cache_size thread_handling thread_stack tmp_table_size
transaction_alloc_block_size transaction_isolation transaction_prealloc_size wait_timeout bind_address
"""

_MARIADB: Final = """
aria_block_size aria_checkpoint_interval aria_checkpoint_log_activity aria_group_commit aria_group_commit_interval
aria_log_file_size aria_max_sort_file_size aria_page_checksum aria_pagecache_age_threshold aria_pagecache_buffer_size
aria_pagecache_division_limit aria_pagecache_file_hash_size aria_repair_threads aria_sort_buffer_size
analyze_sample_percentage binlog_commit_wait_count binlog_commit_wait_usec binlog_file_cache_size
binlog_optimize_thread_scheduling deadlock_search_depth_long deadlock_search_depth_short deadlock_timeout_long
deadlock_timeout_short histogram_size histogram_type idle_transaction_timeout in_predicate_conversion_threshold
innodb_buffer_pool_size_auto_min innodb_buffer_pool_size_max innodb_compression_algorithm innodb_compression_default
innodb_deadlock_report innodb_defragment innodb_linux_aio innodb_log_file_buffering innodb_log_file_mmap
innodb_log_spin_wait_delay innodb_max_purge_lag_wait innodb_prefix_index_cluster_optimization
innodb_snapshot_isolation innodb_stats_traditional innodb_use_atomic_writes join_buffer_space_limit join_cache_level
key_cache_file_hash_size key_cache_segments max_rowid_filter_size max_session_mem_used max_statement_time
metadata_locks_cache_size mrr_buffer_size optimizer_adjust_secondary_key_costs optimizer_disk_read_cost
optimizer_disk_read_ratio optimizer_extra_pruning_depth optimizer_index_block_copy_cost optimizer_key_compare_cost
optimizer_key_copy_cost optimizer_key_lookup_cost optimizer_key_next_find_cost optimizer_max_sel_arg_weight
optimizer_max_sel_args optimizer_row_copy_cost optimizer_row_lookup_cost optimizer_row_next_find_cost
optimizer_rowid_compare_cost optimizer_rowid_copy_cost optimizer_scan_setup_cost
optimizer_selectivity_sampling_limit optimizer_use_condition_selectivity optimizer_where_cost query_cache_limit
query_cache_min_res_unit query_cache_size query_cache_strip_comments query_cache_type query_cache_wlock_invalidate
rowid_merge_buff_size table_cache tcp_nodelay thread_pool_dedicated_listener thread_pool_exact_stats
thread_pool_idle_timeout thread_pool_max_threads thread_pool_oversubscribe thread_pool_prio_kickup_timer
thread_pool_priority thread_pool_size thread_pool_stall_limit tmp_disk_table_size tmp_memory_table_size
use_stat_tables
rocksdb_access_hint_on_compaction_start rocksdb_advise_random_on_open rocksdb_allow_concurrent_memtable_write
rocksdb_allow_mmap_reads rocksdb_allow_mmap_writes rocksdb_block_cache_size rocksdb_block_restart_interval
rocksdb_block_size rocksdb_block_size_deviation rocksdb_bytes_per_sync rocksdb_cache_high_pri_pool_ratio
rocksdb_cache_index_and_filter_blocks rocksdb_cache_index_and_filter_with_high_priority rocksdb_checksums_pct
rocksdb_commit_in_the_middle rocksdb_compaction_readahead_size rocksdb_compaction_sequential_deletes
rocksdb_compaction_sequential_deletes_count_sd rocksdb_compaction_sequential_deletes_file_size
rocksdb_compaction_sequential_deletes_window rocksdb_db_write_buffer_size rocksdb_deadlock_detect
rocksdb_deadlock_detect_depth rocksdb_default_cf_options rocksdb_delayed_write_rate
rocksdb_delete_obsolete_files_period_micros rocksdb_enable_2pc rocksdb_enable_write_thread_adaptive_yield
rocksdb_flush_log_at_trx_commit rocksdb_force_index_records_in_range rocksdb_io_write_timeout rocksdb_large_prefix
rocksdb_lock_scanned_rows rocksdb_lock_wait_timeout rocksdb_manual_compaction_threads
rocksdb_manual_wal_flush rocksdb_max_background_jobs rocksdb_max_manual_compactions rocksdb_max_open_files
rocksdb_max_row_locks rocksdb_max_subcompactions rocksdb_max_total_wal_size rocksdb_merge_buf_size
rocksdb_merge_combine_read_size rocksdb_merge_tmp_file_removal_delay_ms
rocksdb_new_table_reader_for_compaction_inputs rocksdb_no_block_cache rocksdb_override_cf_options
rocksdb_paranoid_checks rocksdb_pin_l0_filter_and_index_blocks_in_cache rocksdb_rate_limiter_bytes_per_sec
rocksdb_records_in_range rocksdb_sim_cache_size rocksdb_skip_bloom_filter_on_read rocksdb_skip_fill_cache
rocksdb_sst_mgr_rate_bytes_per_sec rocksdb_stats_recalc_rate rocksdb_table_cache_numshardbits
rocksdb_two_write_queues rocksdb_use_adaptive_mutex rocksdb_use_clock_cache
rocksdb_use_direct_io_for_flush_and_compaction rocksdb_use_direct_reads rocksdb_use_fsync rocksdb_wal_bytes_per_sync
rocksdb_whole_key_filtering rocksdb_write_batch_max_bytes rocksdb_write_disable_wal rocksdb_write_policy
"""

_MYSQL: Final = """
binlog_group_commit_sync_delay binlog_group_commit_sync_no_delay_count binlog_order_commits
binlog_row_event_max_size innodb_ddl_buffer_size innodb_ddl_threads innodb_dedicated_server
innodb_doublewrite_batch_size innodb_doublewrite_files innodb_doublewrite_pages innodb_extend_and_initialize
innodb_fsync_threshold innodb_idle_flush_pct innodb_log_checksums innodb_log_compressed_pages
innodb_log_spin_cpu_abs_lwm innodb_log_spin_cpu_pct_hwm innodb_log_wait_for_flush_spin_hwm
innodb_log_writer_threads innodb_parallel_read_threads innodb_redo_log_capacity innodb_segment_reserve_factor
innodb_spin_wait_pause_multiplier innodb_use_fdatasync internal_tmp_mem_storage_engine max_execution_time
parser_max_mem_size range_optimizer_max_mem_size regexp_stack_limit regexp_time_limit schema_definition_cache
stored_program_definition_cache super_large_pages tablespace_definition_cache temptable_max_mmap temptable_max_ram
temptable_use_mmap
"""

_FIREBIRD: Final = """
servermode defaultdbcachepages databasegrowthincrement filesystemcachethreshold filesystemcachesize usefilesystemcache
tempblocksize tempcachelimit deadlocktimeout maxunflushedwrites maxunflushedwritetime bugcheckabort
cleargttatretaining connectiontimeout connectionidletimeout statementtimeout wirecompression dummypacketinterval
tcpremotebuffersize tcpnonagle tcploopbackfastpath lockmemsize lockacquirespins lockhashslots eventmemsize
cpuaffinitymask gcpolicy processprioritylevel snapshotsmemsize tipcacheblocksize inlinesortthreshold
maxstatementcachesize parallelworkers maxparallelworkers optimizeforfirstrows outerjoinconversion subqueryconversion
readconsistency extconnpoolsize extconnpoollifetime clientbatchbuffer remotebindaddress
charset page_size page_buffers forced_writes sweep_interval wait auto_undo wire_compression embedded
"""
"""In lower case, as Firebird takes any; the last line is the database's and dsbench's own."""

_PGBOUNCER: Final = """
pool_mode max_client_conn default_pool_size min_pool_size reserve_pool_size reserve_pool_timeout max_db_connections
max_user_connections server_round_robin server_reset_query_always server_check_delay server_fast_close server_lifetime
server_idle_timeout server_connect_timeout server_login_retry client_login_timeout client_idle_timeout query_timeout
query_wait_timeout idle_transaction_timeout transaction_timeout max_prepared_statements disable_pqexec
application_name_add_host pkt_buf max_packet_size listen_backlog sbuf_loopcnt so_reuseport tcp_defer_accept
tcp_socket_buffer tcp_keepalive log_connections log_disconnections log_pooler_errors log_stats stats_period verbose
"""
PGBOUNCER: Final = frozenset(_PGBOUNCER.split())
"""Of the pooler before a private PostgreSQL server, by the names of ``pgbouncer.ini``."""

_SQLITE: Final = "journal_mode synchronous cache_size mmap_size page_size busy_timeout_ms foreign_keys begin"

TUNING: Final = {
    "postgresql": frozenset(_POSTGRESQL.split()) | {"pooler", "standbys", "sync"}
    | {f"pgbouncer.{name}" for name in PGBOUNCER},
    "mariadb": frozenset((_MARIADB_AND_MYSQL + _MARIADB).split()) | {"galera", "replicas", "sync"},
    "mysql": frozenset((_MARIADB_AND_MYSQL + _MYSQL).split()),
    "firebird": frozenset(_FIREBIRD.split()),
    "sqlite": frozenset(_SQLITE.split()),
}
"""By product: names as ``normal`` gives them."""

_PREFIXES: Final = re.compile(r"(?:(?:loose|maximum|skip|enable|disable)_)+(?=.)")
_NUMBER: Final = r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?\s{0,2}[A-Za-z%]{0,3}"
_VALUE: Final = re.compile(rf"({_NUMBER}|[A-Za-z][A-Za-z0-9_-]*)?", re.ASCII)
"""A number or a size, a switch, a word."""
_SWITCH: Final = re.compile("on|off|true|false|yes|no|0|1", re.IGNORECASE)
_LOOPBACK: Final = re.compile(r"localhost|127\.0\.0\.1|::1")
_COLUMN_FAMILY: Final = re.compile(r"[\w=;:{}.,-]*", re.ASCII)
_PARTICULAR: Final = {
    "listen_addresses": _LOOPBACK, "bind_address": _LOOPBACK, "remotebindaddress": _LOOPBACK, "log_bin": _SWITCH,
    "timezone": re.compile("[A-Za-z]+(/[A-Za-z_]+){0,2}"),
    "optimizer_switch": re.compile(r"[a-z_]+=(on|off|default)(,[a-z_]+=(on|off|default))*"),
    "rocksdb_default_cf_options": _COLUMN_FAMILY, "rocksdb_override_cf_options": _COLUMN_FAMILY,
}  # fmt: skip
"""Values of settings that take others."""


def normal(product: str, name: str) -> str:
    """``name`` as the server of ``product`` understands it: what it takes for the same setting is the same text."""
    name = name.strip()
    if product == "sqlite":
        return name
    if product in ("mariadb", "mysql"):
        return _PREFIXES.sub("", name.lower().replace("-", "_"), 1) if name.isascii() else name
    return name.lower() if name.isascii() else name


def may_be(product: str, name: str, own: str) -> bool:
    """Whether the server of ``product`` may take ``name`` for the setting ``own``; MariaDB and MySQL take as much of
    a name as no other begins with."""
    said, meant = normal(product, name), normal(product, own)
    return said == meant or (product in ("mariadb", "mysql") and bool(said) and meant.startswith(said))


def tunes(product: str, name: str, value: str) -> bool:
    """Whether the setting ``name`` of ``product`` with ``value`` tunes and does nothing else."""
    known = normal(OTHERWISE.get(product, product), name)
    allowed = TUNING.get(OTHERWISE.get(product, product), frozenset())
    return known in allowed and _PARTICULAR.get(known, _VALUE).fullmatch(value.strip()) is not None
