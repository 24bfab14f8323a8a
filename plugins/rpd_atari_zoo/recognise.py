"""Frozen graphs of TensorFlow, known by how they begin."""

from rpd_core.plugin.protocols import Contents

_NODE, _NAME = 0x0A, 0x0A
"""The tags of a graph's first node and of that node's name."""


def is_frozen_graph(contents: Contents) -> bool:
    """Return whether a file begins as a graph whose first node has a name and an operator."""
    start = contents.start
    place = next((i for i in range(1, 6) if i < len(start) and start[i] < 128), 0) + 1
    if start[:1] != bytes([_NODE]) or start[place : place + 1] != bytes([_NAME]):
        return False
    length = start[place + 1] if place + 1 < len(start) else 0
    name = start[place + 2 : place + 2 + length]
    operator = start[place + 2 + length : place + 3 + length]
    return operator == b"\x12" and name.isascii() and name.decode().isprintable()
