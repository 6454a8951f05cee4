"""The speed comparison: dsbench against pgbench, sysbench and a bare loop. Run by ``python -m bench``.

Read ``__main__`` first; ``cases`` says what is compared, ``sweeps`` in which order, ``load``, ``pgbench``,
``sysbench`` and ``bare`` how each client is run, ``page`` what is written.
"""
