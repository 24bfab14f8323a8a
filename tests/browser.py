"""A headless Chromium for tests of pages; where there is none they are skipped with a line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ADVICE = "no Chromium: apt-get install chromium-headless-shell && pip install playwright"
SWITCH = "RPD_CHROMIUM"
"""In the environment: `absent`, as if there were none; `needed`, for tests to fail without it."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser; where there is none, skip."""
    switch = os.environ.get(SWITCH)
    known = () if switch == "absent" else PROGRAMS
    program = next(filter(None, map(shutil.which, known)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        if switch == "needed":
            pytest.fail(ADVICE)
        pytest.skip(ADVICE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page in a browser, and what it complained about or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Any, path: Path, **how: Any) -> Iterator[Opened]:
    """Open a page without any network, and wait until it is ready."""
    how.setdefault("viewport", {"width": 1200, "height": 900})
    context = browser.new_context(offline=True, **how)
    page = context.new_page()
    found = Opened(page)

    def told(message: Any) -> None:
        if message.type in ("error", "warning"):
            found.complaints.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith(("data:", "blob:", "file:")):
            found.requests.append(request.url)

    page.on("console", told)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", asked)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=30_000)
    yield found
    context.close()
