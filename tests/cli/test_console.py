"""Text on the consoles is shown as it was written."""

import pytest

from rpd_core.cli.console import answers, errors


@pytest.mark.parametrize("text", ["networks:X: cannot be imported", "runs/a:smile:b 0.5"])
def test_names_between_colons_do_not_become_emojis(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answers().print(text, markup=False)
    errors().print(text, markup=False)
    assert tuple(capsys.readouterr()) == (f"{text}\n", f"{text}\n")
