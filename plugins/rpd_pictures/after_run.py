"""What `rpd draw` does at the end of a run, and what `rpd verify` has it check of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpd_core.errors import StoreError, shell_word
from rpd_core.store.files import read_whole
from rpd_pictures.stored import FOLDER, named_file, picture_folder, read_index

if TYPE_CHECKING:
    from rpd_core.results.run import Run
    from rpd_core.store.session import Session

_LARGEST = 2**24
"""Bytes of a picture that is checked."""


class _AfterRun:
    """Takes pictures of a run that has its answer."""

    def __call__(self, session: Session, run: Run) -> None:
        from rpd_pictures.pictures import take_after_run  # it draws

        take_after_run(session, run)

    def check(self, run: Run) -> None:
        """Refuse an index that names what is not there, or is not a picture."""
        path, name = run.path, str(run.name)
        if (path / FOLDER).exists() and not (path / FOLDER).is_dir():
            raise StoreError(f"{str(path / FOLDER)!r} is not a folder: delete it")
        index, folder = read_index(path, name), picture_folder(path, name)
        again = f"make the pictures again with rpd draw {shell_word(path)} pictures"
        for file in () if index is None else index.files():
            content = read_whole(named_file(folder, file), path, _LARGEST)
            if content is None:
                raise StoreError(f"{str(folder / file)!r} is missing: {again}")
            if file.endswith(".webp") and not (content[:4] == b"RIFF" and content[8:12] == b"WEBP"):
                raise StoreError(f"{str(folder / file)!r} is not a WebP picture: {again}")


after_run = _AfterRun()
