"""The speed comparison: dsbench against pgbench, sysbench and a bare loop. Run by ``python -m bench``.

Read ``__main__`` first; ``cells`` says what is measured, ``peers`` who is compared, ``sweeps`` in which order,
``load``, ``pgbench``, ``sysbench`` and ``bare`` how each client is run, ``kept`` what stays, ``page`` what is written.
"""
