"""The speed comparison: dsbench against pgbench, sysbench and a bare loop. Run by ``python -m bench``.

``cells`` says what is measured and what the goals are, ``clients`` how each client is run, ``places`` on which servers,
``results`` what stays and what the page shows; ``parts`` is what is measured beside the cells.
"""
