"""What people call to play: the core's functions, with runs as people hold them."""

from __future__ import annotations

from rpd.face import shown
from rpd_core import api

run = shown(api.run)
build_suite = shown(api.build_suite)
merge_runs = shown(api.merge_runs)
