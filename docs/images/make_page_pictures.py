"""Draw pages of three runs as pictures, for README and docs:

    python docs/images/make_page_pictures.py CARTPOLE MINIGRID INVENTORY

The runs are those of `rpd run --env cartpole`, of `rpd run --env minigrid --seed 121` and of
`docs/examples/inventory.py` with seed 304, with the policies that ship with rpd. It needs the extra
`dev` and a Chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import rpd

WIDTH, HEIGHT = 1200, 900
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
NAMES = ("page-cartpole.webp", "page-minigrid.webp", "page-inventory.webp")
"""What the pictures are called, run by run."""


def main(runs: list[Path]) -> None:
    """Open the page of each run and save what is seen of it beside this script."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for run, name in zip(runs, NAMES, strict=True):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(rpd.report(rpd.open_run(run), Path(folder) / "report.html").as_uri())
            Path(__file__).with_name(name).write_bytes(_picture(page))
        browser.close()


def _picture(page: Any) -> bytes:
    """Return what a window shows of the top of a page, as WebP."""
    seen = Image.open(io.BytesIO(page.screenshot()))
    sink = io.BytesIO()
    seen.convert("RGB").save(sink, "WEBP", quality=80, method=6)
    return sink.getvalue()


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
