"""ONNX models, known by how they begin."""

from rpd_core.plugin.protocols import Contents

_VERSION, _NEWEST = 0x08, 30
"""The tag of the first field, the version of the format, and the highest that is taken for one."""
_TEXTS = (0x12, 0x1A, 0x22, 0x32)
"""Tags of who wrote the model, with what, for what domain, and of a remark."""
_NUMBER, _GRAPH, _OPERATORS = 0x28, 0x3A, 0x42


def is_onnx(contents: Contents) -> bool:
    """Return whether a file begins as a model: a version, short texts, and then a graph."""
    start = contents.start
    if len(start) < 4 or start[0] != _VERSION or not 0 < start[1] <= _NEWEST:
        return False
    place = 2
    while place + 1 < len(start):
        tag, length = start[place], start[place + 1]
        if tag in (_GRAPH, _OPERATORS):
            return True
        if tag == _NUMBER:
            place += 2
        elif tag in _TEXTS and length < 128:
            text = start[place + 2 : place + 2 + length]
            if any(byte < 32 for byte in text):
                return False
            place += 2 + length
        else:
            return False
    return False
