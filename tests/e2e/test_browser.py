"""Tests of pages where there is no browser."""

from __future__ import annotations

import shutil

import pytest
from browser import ADVICE, SWITCH, chromium


def test_without_chromium_tests_of_pages_are_skipped_with_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SWITCH, "absent")
    with pytest.raises(pytest.skip.Exception) as skipped, chromium():
        pass
    assert str(skipped.value) == ADVICE
    monkeypatch.delenv(SWITCH)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(pytest.skip.Exception), chromium():
        pass


def test_where_chromium_is_needed_they_fail_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "needed")
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(pytest.fail.Exception) as failed, chromium():
        pass
    assert str(failed.value) == ADVICE
