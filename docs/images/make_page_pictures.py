"""Draw pages of two runs as pictures: `python docs/images/make_page_pictures.py CARTPOLE MINIGRID`.

The runs are those of `rpd run --env cartpole` and `rpd run --env minigrid --seed 121`, and of
the policies that ship with rpd. It needs the extra `dev` and a Chromium.
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

from rpd_core import open_run

WIDTH, HEIGHT = 1200, 1480
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TOPS = {"page-cartpole.webp": "body", "page-minigrid.webp": "#decisions"}
"""Names of the pictures, and what stands at the top of each."""


def main(runs: list[Path]) -> None:
    """Open the page of each run and save what is seen of it beside this script."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for run, (name, top) in zip(runs, TOPS.items(), strict=True):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(open_run(run).report(Path(folder) / "report.html").as_uri())
            page.wait_for_selector("html[data-ready=yes]")
            Path(__file__).with_name(name).write_bytes(_picture(page, top))
        browser.close()


def _picture(page: Any, top: str) -> bytes:
    """Return what a window shows from some part of the page on, as WebP."""
    page.evaluate(
        "top => window.scrollTo({top: document.querySelector(top).getBoundingClientRect().top,"
        " behavior: 'instant'})",
        top,
    )
    page.wait_for_timeout(500)  # charts are drawn in the next frames
    seen = Image.open(io.BytesIO(page.screenshot()))
    sink = io.BytesIO()
    seen.convert("RGB").save(sink, "WEBP", quality=80, method=6)
    return sink.getvalue()


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
