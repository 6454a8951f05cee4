"""The JSON Schema of what ``--json`` prints, out of the types that it is made from."""

from __future__ import annotations

import types
from collections.abc import Mapping
from collections.abc import Set as AnySet
from dataclasses import fields, is_dataclass
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.subjects import results
from dsbench.read.subjects.checklist import Answer
from dsbench.read.tables import keys
from dsbench.read.verdict import Soundness
from dsbench.spec import LEVELS
from dsbench.stats.efficiency import Efficiency
from dsbench.stats.values import result_columns

Schema = dict[str, Any]

_PLAIN: Final[Mapping[Any, Schema]] = {
    bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": ["number", "null"]}, str: {"type": "string"},
    type(None): {"type": "null"},
}  # fmt: skip
"""A number that is missing is ``null``."""
_VERDICT: Final[Schema] = {
    "type": "object", "required": ["soundness", "why"],
    "properties": {"soundness": {"enum": [one.value for one in Soundness]},
                   "why": {"type": "array", "items": {"type": "string"}}},
}  # fmt: skip


def schema() -> Schema:
    """Of ``dsbench run --json`` and ``dsbench show --json``. A newer dsbench may tell more."""
    found: dict[str, Schema] = {}
    run = RunRecord.model_json_schema(ref_template="#/$defs/run-{model}")
    found |= {f"run-{name}": one for name, one in run.pop("$defs", {}).items()}
    found["Evaluation"] = _evaluation(found)
    one = found["Evaluation"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dsbench --json",
        "type": "object",
        "properties": {
            "run": run, "verdict": _VERDICT, **one["properties"], "checklist": _listed(_of(Answer, found)),
            "files": _listed({"type": "string"}),
        },
        "required": ["run", "verdict", *one["required"], "checklist", "files"],
        "$defs": found,
    }  # fmt: skip


def _evaluation(found: dict[str, Schema]) -> Schema:
    hints = get_type_hints(Evaluation) | {name: result.type_of(name) for name, result in results().items()}
    told = {name: _of(hints[name], found) for name in keys()}
    columns = {name: {"type": ["number", "null"], "description": one.sentence, "unit": one.unit}
               for name, one in result_columns(LEVELS).items()}  # fmt: skip
    efficiency = _named(_of(Efficiency, found))
    found["Efficiency"]["properties"]["times"] = _named({"type": "object"})  # Counted between borders.
    curve = {"type": "object", "properties": {"count": {"type": "integer"}, "quantiles_ns": _named(_PLAIN[float])}}
    told |= {
        "scales": _listed({"type": "object", "properties": columns, "additionalProperties": _PLAIN[float]}),
        "peak": _named({"type": "object"}), "efficiency": efficiency, "statements": _named(efficiency),
        "series": _named({"$ref": "#/$defs/Evaluation"}), "frequency": _named(curve), "response": _named(curve),
    }  # fmt: skip
    return {"type": "object", "properties": told, "required": list(told)}


def _of(hint: Any, found: dict[str, Schema]) -> Schema:
    """The schema of a type; that of a dataclass goes into ``found``."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if is_dataclass(hint):
        return _of_dataclass(hint, found)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(one, found) for one in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _named(_of(inner[1], found))
    if origin is tuple and inner[-1] is not Ellipsis:
        return {"type": "array", "prefixItems": [_of(one, found) for one in inner]}
    if isinstance(origin, type) and issubclass(origin, tuple | list | AnySet):
        return _listed(_of(inner[0], found))
    if origin is np.ndarray or (isinstance(hint, type) and issubclass(hint, tuple)):
        return {"type": "array"}
    return {}


def _of_dataclass(kind: Any, found: dict[str, Schema]) -> Schema:
    name = kind.__name__
    if name not in found:
        found[name] = {}  # It may hold itself.
        hints = get_type_hints(kind)
        told = {one.name: _of(hints[one.name], found) for one in fields(kind)}
        words = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
        found[name] = {"type": "object", "description": words, "properties": told, "required": list(told)}
    return {"$ref": f"#/$defs/{name}"}


def _named(one: Schema) -> Schema:
    return {"type": "object", "additionalProperties": one}


def _listed(one: Schema) -> Schema:
    return {"type": "array", "items": one}
