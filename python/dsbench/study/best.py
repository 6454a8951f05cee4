"""From the effects of single factors to a configuration, as a study that tests it against the references."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dsbench.spec import SpecError
from dsbench.study.paths import HOST
from dsbench.study.results import Outcomes


def best(found: Outcomes, *, likely: bool = False) -> str:
    """A study's file: the level of each factor with the largest effect that is there, beside all references.

    ``likely``: the one with the largest ratio, though it may be chance. What factors do together is not in it: that is
    what the new study finds out (the talk: it may be less, or nothing). ``SpecError`` where no level is better than its
    reference.
    """
    chosen = [_best(found, factor, likely) for factor in range(len(found.factors))]
    if chosen == list(found.references):
        ways = "" if likely else "; or take what is likely better: dsbench study best FOLDER --likely"
        more = f"more repetitions show smaller effects: dsbench study add FOLDER --repeat 3{ways}"
        raise SpecError("FOLDER", "no level was found to be better than its reference", more)
    spec = found.study.spec
    names = [f"{name} {found.levels[n][chosen[n]].name}" for n, name in enumerate(found.factors)]
    lines = [
        f"# {', '.join(names)}, as the study {_toml(spec.name)} found them one by one",
        f"name = {_toml(f'{spec.name}, best')}",
        f"about = {_toml('The best level of each factor together, against all references')}",
        *([f"nodes = {_toml(spec.nodes)}"] if spec.nodes else []),
        *([f"address = {_toml(spec.address)}"] if spec.address else []),
        "\n[run]", *(f"{name} = {_toml(value)}" for name, value in spec.run.items()),
        '\n[[factor]]\nname = "configuration"', "levels = [",
        f"  {{ name = \"reference\", set = {_toml(_sets(found, found.references))} }},",
        f"  {{ name = \"best\", set = {_toml(_sets(found, chosen))} }},", "]",
        f"\n[trials]\nrepeat = {max(spec.trials.repeat, 3)}\nseed = {spec.trials.seed + 1}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _best(found: Outcomes, factor: int, likely: bool) -> int:
    effects = found.effects.main if found.effects else ()
    # Of hosts none can be chosen: a run is made where it is made.
    varied = found.study.factors[factor].path != HOST
    own = [one for one in effects if one.factors == (factor,) and varied and (likely or (one.known and not one.none))]
    more = [one for one in own if one.ratio.value > 1]
    reference = found.references[factor]
    return max(more, key=lambda one: one.ratio.value).levels[0] if more else reference


def _sets(found: Outcomes, levels: Sequence[int]) -> dict[str, Any]:
    sets = [found.levels[n][level].sets for n, level in enumerate(levels)]
    return {path: value for some in sets for path, value in some.items() if path != HOST}


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return json.dumps(value, ensure_ascii=False)
