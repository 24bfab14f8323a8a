"""TensorFlow's graph messages as far as frozen networks use them, described at run time.

Field numbers are TensorFlow's; fields that are not named here are skipped when a file is read.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "rpd_atari_zoo.tensorflow"
_KINDS = {"double": 1, "float": 2, "int64": 3, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
_MESSAGE, _OPTIONAL, _REPEATED = 11, 1, 3

# message -> field -> (number, type); a type in brackets repeats
_LAYOUT: dict[str, dict[str, tuple[int, str]]] = {
    "Dim": {"size": (1, "int64")},
    "TensorShape": {"dim": (2, "[Dim]"), "unknown_rank": (3, "bool")},
    "Tensor": {
        "dtype": (1, "int32"),
        "tensor_shape": (2, "TensorShape"),
        "tensor_content": (4, "bytes"),
        "float_val": (5, "[float]"),
        "double_val": (6, "[double]"),
        "int_val": (7, "[int32]"),
        "string_val": (8, "[bytes]"),
        "int64_val": (10, "[int64]"),
        "bool_val": (11, "[bool]"),
        "half_val": (13, "[int32]"),
    },
    "ListValue": {"s": (2, "[bytes]"), "i": (3, "[int64]"), "f": (4, "[float]")},
    "AttrValue": {
        "list": (1, "ListValue"),
        "s": (2, "bytes"),
        "i": (3, "int64"),
        "f": (4, "float"),
        "b": (5, "bool"),
        "type": (6, "int32"),
        "shape": (7, "TensorShape"),
        "tensor": (8, "Tensor"),
    },
    "AttrEntry": {"key": (1, "string"), "value": (2, "AttrValue")},
    "NodeDef": {
        "name": (1, "string"),
        "op": (2, "string"),
        "input": (3, "[string]"),
        "device": (4, "string"),
        "attr": (5, "[AttrEntry]"),
    },
    "GraphDef": {"node": (1, "[NodeDef]")},
}


def message_layout(name: str) -> dict[int, Any]:
    """Return the fields of a message that are messages themselves, by number, and theirs."""
    kinds = {number: kind.strip("[]") for number, kind in _LAYOUT[name].values()}
    return {number: message_layout(kind) for number, kind in kinds.items() if kind in _LAYOUT}


def _describe_field(message: Any, name: str, number: int, kind: str) -> None:
    field = message.field.add(name=name, number=number)
    plain = kind.strip("[]")
    field.label = _REPEATED if kind.startswith("[") else _OPTIONAL
    field.type = _KINDS.get(plain, _MESSAGE)
    if field.type == _MESSAGE:
        field.type_name = f".{_PACKAGE}.{plain}"


def _message_class(name: str) -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="rpd_atari_zoo/tensorflow.proto", package=_PACKAGE, syntax="proto3"
    )
    for message_name, fields in _LAYOUT.items():
        message = file.message_type.add(name=message_name)
        for field_name, (number, kind) in fields.items():
            _describe_field(message, field_name, number, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


GraphDef: Any = _message_class("GraphDef")
"""The message class of a whole graph; `ParseFromString` reads one, `SerializeToString` writes."""
