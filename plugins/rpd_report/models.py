"""Models of BokehJS as the JSON that it reads; Bokeh's own Python classes take seconds to make it.

What is written is what `bokeh.plotting` writes, down to the order: a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import bokeh

_UNCHOSEN = {"nonselection_glyph": 0.1, "muted_glyph": 0.2}
"""How much is seen of marks while others are chosen, and while they are muted."""


_ALPHAS = ("line_alpha", "fill_alpha", "hatch_alpha")
_ORDER = (
    "x", "y", "width", "height", "size", "line_color", "line_alpha", "line_width", "line_dash",
    "fill_color", "fill_alpha", "hatch_color", "hatch_alpha", "marker",
)  # fmt: skip
"""Attributes of marks as Bokeh writes them."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model: one that stands in several places is the same one there."""

    name: str
    """Its class in BokehJS."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """What is not as usual."""


def document(root: Model) -> dict[str, Any]:
    """Return a document as an item to be embedded; models are numbered as they come."""
    numbers = {root: "m1"}
    written = set[Model]()

    def plain(value: Any) -> Any:
        if isinstance(value, Model):
            number = numbers.setdefault(value, f"m{len(numbers) + 1}")
            if value in written:
                return {"id": number}
            written.add(value)
            about = {"type": "object", "name": value.name, "id": number}
            return {**about, "attributes": plain(value.attributes)} if value.attributes else about
        if isinstance(value, Mapping):
            return {name: plain(part) for name, part in value.items()}
        return [plain(part) for part in value] if isinstance(value, list | tuple) else value

    config = plain(Model("DocumentConfig", {"notifications": Model("Notifications")}))
    content = {"version": bokeh.__version__, "title": "", "config": config, "roots": [plain(root)]}
    return {"target_id": None, "root_id": "m1", "doc": content, "version": bokeh.__version__}


def column(name: str) -> dict[str, str]:
    """Return that something is read from a column."""
    return {"type": "field", "field": name}


def constant(value: Any) -> dict[str, Any]:
    """Return that something is the same in all rows."""
    return {"type": "value", "value": value}


def table(columns: Mapping[str, Sequence[Any]], name: str | None = None) -> Model:
    """Return columns to draw from."""
    chosen = Model("Selection", {"indices": [], "line_indices": []})
    entries = [[title, list(values)] for title, values in columns.items()]
    return Model("ColumnDataSource", {
        **({} if name is None else {"name": name}),
        "selected": chosen, "selection_policy": Model("UnionRenderers"),
        "data": {"type": "map", "entries": entries},
    })  # fmt: skip


def drawn(source: Model, glyph: Model, name: str | None = None) -> Model:
    """Return marks for the rows of a table, hardly seen while others are chosen."""
    view = Model("CDSView", {"filter": Model("AllIndices")})
    weak = {state: _faded(glyph, alpha) for state, alpha in _UNCHOSEN.items()}
    named = {} if name is None else {"name": name}
    about = {**named, "data_source": source, "view": view, "glyph": glyph, **weak}
    return Model("GlyphRenderer", about)


def _faded(glyph: Model, alpha: float) -> Model:
    line = glyph.name == "Line"  # the same all along, where others may differ from row to row
    alphas = dict.fromkeys(_ALPHAS[:1] if line else _ALPHAS, alpha if line else constant(alpha))
    known = {**glyph.attributes, **alphas}
    return Model(glyph.name, {name: known[name] for name in _ORDER if name in known})
