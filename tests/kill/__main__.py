"""Kills real runs at random moments, goes on with them, and proves that nothing was lost and nothing is left."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.kill.one import SIGNALS, Killed, Killer, choice, foreign, here
from tests.kill.watched import PHASES

import dsbench
from dsbench import servers
from dsbench.servers import templates
from dsbench.servers.folder import Folder

EPILOG = "Example: python -m tests.kill --kills 20 --seed 7 --products sqlite,postgresql --out killed.md"


def main() -> int:
    """Makes the kills; 1 when one of them showed a violation."""
    asked = _arguments()
    products = asked.products.split(",") if asked.products else here()
    if unknown := set(products) - set(here()):
        print(f"error: --products: {', '.join(sorted(unknown))}; here are {', '.join(here())}", file=sys.stderr)
        return 2
    numbers = [asked.only] if asked.only is not None else list(range(asked.kills))
    folder = Folder.create(Path(tempfile.gettempdir()), "templates")
    os.environ[templates.VARIABLE] = str(folder.path)
    done: list[Killed] = []
    mine = threading.local()
    stack: list[servers.Server] = []

    def one(number: int) -> None:
        if not hasattr(mine, "killer"):
            stack.append(server := foreign())
            mine.killer = Killer(server.url)
        found = mine.killer.kill(f"{asked.seed}/{number}", *choice(asked.seed, number, products))
        done.append(found)
        _tell(found, number, asked)
        if asked.out:
            asked.out.write_text(table(done, asked))

    try:
        with ThreadPoolExecutor(asked.at_once) as pool:
            list(pool.map(one, numbers))
    finally:
        for server in stack:
            server.stop()
        folder.remove()
    print(table(done, asked))
    return int(any(killed.violations for killed in done))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.kill", description=__doc__, epilog=EPILOG)
    parser.add_argument("--kills", type=int, default=20, help="how many (20)")
    parser.add_argument("--seed", type=int, default=1, help="of products, phases, signals and moments (1)")
    parser.add_argument("--only", type=int, help="repeat the kill of this number alone")
    parser.add_argument("--products", default="", help="some of those that are installed (all): by name, with commas")
    parser.add_argument("--at-once", type=int, default=1, help="kills at the same time (1)")
    parser.add_argument("--out", type=Path, help="file for the table, written after each kill")
    return parser.parse_args()


def _tell(found: Killed, number: int, asked: argparse.Namespace) -> None:
    words = "too late" if found.late else "; ".join(found.violations) or "nothing lost"
    print(f"{number}: {found.product}, {found.phase}, {found.signal.name}: {words}", flush=True)
    if found.violations:
        products = f" --products '{asked.products}'" if asked.products else ""
        print(f"   again: python -m tests.kill --seed {asked.seed} --only {number}{products}", flush=True)


def table(done: list[Killed], asked: argparse.Namespace) -> str:
    """Kills and violations by phase, signal and product, as Markdown."""
    made = [killed for killed in done if not killed.late]
    wrong = [killed for killed in made if killed.violations]
    kills = Counter((killed.phase, killed.signal, killed.product) for killed in made)
    bad = Counter((killed.phase, killed.signal, killed.product) for killed in wrong)
    products = [name for name in here() if any(killed.product == name for killed in made)]
    at = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        f"{len(made)} kills, {len(wrong)} with violations; {at}, dsbench {dsbench.__version__}, seed {asked.seed}.",
        "",
        "| phase | signal | " + " | ".join(products) + " | kills | violations |",
        "|---|---|" + "---|" * (len(products) + 2),
    ]
    for phase in PHASES:
        for sign in SIGNALS:
            cells = [_cell(kills[phase, sign, name], bad[phase, sign, name]) for name in products]
            count = sum(kills[phase, sign, name] for name in products)
            violations = sum(bad[phase, sign, name] for name in products)
            if count:
                lines.append(f"| {phase} | {sign.name} | {' | '.join(cells)} | {count} | {violations} |")
    return "\n".join(lines) + "\n"


def _cell(kills: int, violations: int) -> str:
    return f"{kills} ({violations})" if violations else str(kills or "")


if __name__ == "__main__":
    sys.exit(main())
