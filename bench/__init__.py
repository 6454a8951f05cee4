"""The speed comparison: dsbench against pgbench, sysbench and a bare loop. Run by ``python -m bench``.

``cells`` says what is measured and what the goals are, ``peers`` who is compared, ``clients`` how each is run,
``places`` on which servers, ``results`` what stays and what the page shows; ``population`` stands beside the cells.
``statistics`` and ``cluster`` draw tables of the docs, on what the tests have: drawn series and networks.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests"))
