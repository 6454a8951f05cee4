"""From the effects of single factors to a configuration, as a study that tests it against the references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import tomli_w

from dsbench.redaction import redact_values, without_hidden
from dsbench.spec import SpecError
from dsbench.study.paths import HOST
from dsbench.study.record import as_stored
from dsbench.study.results import Outcomes
from dsbench.study.spec import COMPUTED


def best(found: Outcomes, *, likely: bool = False, vary: Sequence[str] = ()) -> str:
    """A study's file: the level of each factor with the largest effect that is there, beside all references.

    ``likely``: the one with the largest ratio, though it may be chance. Factors named by ``vary`` stay factors with all
    their levels: the new study compares best and reference at each of them. What factors do together is not in it: that
    is what the new study finds out (the talk: it may be less, or nothing). ``SpecError`` where no level is better than
    its reference.
    """
    if unknown := [name for name in vary if name not in found.factors]:
        raise SpecError("--vary", f"no factor {unknown[0][:60]!r}", f"use one of {', '.join(found.factors)}")
    kept = [found.factors.index(name) for name in dict.fromkeys(vary)]
    chosen = [found.references[at] if at in kept else _best(found, at, likely) for at in range(len(found.factors))]
    if chosen == list(found.references):
        ways = "" if likely else "; or use what is probably better: dsbench study best FOLDER --likely"
        more = f"more repetitions show smaller effects: dsbench study add FOLDER --repeat 3{ways}"
        raise SpecError("FOLDER", "no level was found to be better than its reference", more)
    spec = found.study.spec
    names = [f"{name} {found.levels[n][chosen[n]].name}" for n, name in enumerate(found.factors) if n not in kept]
    both = (("reference", found.references), ("best", chosen))
    levels = [{"name": name, "set": _sets(found, at, kept)} for name, at in both]
    varied = [found.study.factors[at].model_dump(mode="json", exclude_unset=True, exclude_none=True) for at in kept]
    choice = {"of": found.measure if found.measure != "rate" else "", "stage": found.chosen, "group": found.group}
    asked = {
        "name": f"{spec.name}, best", "about": "The best level of each factor together, against all references",
        **{key: name for key, name in choice.items() if name},
        **({"nodes": list(spec.nodes)} if spec.nodes else {}), **({"address": spec.address} if spec.address else {}),
        "run": as_stored(spec)["run"], "factor": redact_values([{"name": "configuration", "levels": levels}, *varied]),
        "trials": {"repeat": max(spec.trials.repeat, 3), "seed": spec.trials.seed + 1},
    }  # fmt: skip
    whole = without_hidden(asked)
    where = f", in stage {found.made[-1].last}" if found.staged else ""
    lines = [f"# {', '.join(names)}, as the study {spec.name} found them one by one{where}"]
    lines += [f"# {NO_PASSWORD}"] * (whole != asked)
    return "\n".join(lines) + "\n" + tomli_w.dumps(whole)


NO_PASSWORD: Final = "a study contains no password: write that of the target into this file before you run it"


def _best(found: Outcomes, factor: int, likely: bool) -> int:
    effects = found.effects.main if found.effects else ()
    # Of hosts none can be chosen: a run is made where it is made.
    varied = found.study.factors[factor].path != HOST
    own = [one for one in effects if one.factors == (factor,) and varied and (likely or (one.known and not one.none))]
    more = [one for one in own if found.gain(one) > 0]
    reference = found.references[factor]
    return max(more, key=found.gain).levels[0] if more else reference


def _sets(found: Outcomes, levels: Sequence[int], kept: Sequence[int]) -> dict[str, Any]:
    """What the levels of all factors set together, without the factors of ``kept``."""
    sets = []
    for factor, level in enumerate(levels):
        if factor in kept:
            continue
        raw = found.study.factors[factor].levels[level]
        if isinstance(raw, Mapping) and "rules" in raw and COMPUTED not in raw:
            words = f"what the rules {raw['rules']} set is not in the study, or differed between its machines"
            raise SpecError("FOLDER", words, "specify the study of one machine, or write a level with these values")
        sets.append(found.levels[factor][level].sets)
    return {path: value for some in sets for path, value in some.items() if path != HOST}
