"""Pictures as files: lossless WebP, thumbnails, films."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from rpd_core.errors import ComponentError

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array

THUMBNAILS = (192, 160, 128, 96, 64, 48, 32)
"""Longest sides of a picture of a state, in pixels: the first that makes it small enough."""
LARGEST_THUMBNAIL = 4096
"""Bytes beyond which it is made smaller: a page holds 300 of them."""
LARGEST_CLIP = 70_000
"""Bytes beyond which a stored clip is made smaller: a page holds ten of them."""
FRAMES_PER_SECOND = 10
GAP = 8
"""Pixels between two cards."""


def webp(picture: Image.Image) -> bytes:
    """Return a picture as a lossless WebP file."""
    sink = io.BytesIO()
    picture.save(sink, "WEBP", lossless=True, quality=80, method=4)
    return sink.getvalue()


def thumbnail(pictures: Sequence[Array]) -> bytes:
    """Return pictures in a row, each within a small square, as a lossless WebP file."""
    content = b""
    for side in THUMBNAILS:
        content = webp(
            side_by_side([_fitted(Image.fromarray(one), side) for one in pictures], gap=4)
        )
        if len(content) <= LARGEST_THUMBNAIL:
            break
    return content


def _fitted(picture: Image.Image, side: int) -> Image.Image:
    """Return a picture as large as fits into a square; small ones grow and stay sharp."""
    longest = max(picture.size)
    how = Image.Resampling.NEAREST if longest <= side else Image.Resampling.BOX
    sides = (max(1, round(one * side / longest)) for one in picture.size)
    return picture.resize((next(sides), next(sides)), how)


def side_by_side(pictures: Sequence[Image.Image], gap: int = GAP) -> Image.Image:
    """Return pictures in a row, on white."""
    width = sum(one.width for one in pictures) + gap * (len(pictures) - 1)
    page = Image.new("RGB", (width, max(one.height for one in pictures)), (255, 255, 255))
    left = 0
    for one in pictures:
        page.paste(one, (left, 0))
        left += one.width + gap
    return page


def same_size(pictures: Sequence[Image.Image]) -> list[Image.Image]:
    """Return pictures on white of one size: what an environment draws may change its size."""
    size = max(one.width for one in pictures), max(one.height for one in pictures)
    pages = []
    for one in pictures:
        page = one
        if one.size != size:
            page = Image.new("RGB", size, (255, 255, 255))
            page.paste(one)
        pages.append(page)
    return pages


def reduced(frame: Array, longest: int) -> Array:
    """Return a picture no longer than this on any side: means over squares of pixels."""
    factor = -(-max(frame.shape[:2]) // longest)
    if factor <= 1:
        return frame
    picture = Image.fromarray(np.ascontiguousarray(frame))
    return np.asarray(picture.reduce(factor))


def film_webp(frames: Sequence[Image.Image], durations: Sequence[int]) -> bytes:
    """Return frames as an animated lossless WebP file; durations are in milliseconds."""
    sink = io.BytesIO()
    frames[0].save(
        sink,
        "WEBP",
        save_all=True,
        append_images=list(frames[1:]),
        duration=list(durations),
        loop=0,
        lossless=True,
        quality=50,
        method=2,
        kmin=16,  # a frame that may be a key frame is encoded twice, so there are few of them
        kmax=17,
    )
    return sink.getvalue()


def film_gif(frames: Sequence[Image.Image], durations: Sequence[int]) -> bytes:
    """Return frames as an animated GIF of 256 colours."""
    sink = io.BytesIO()
    more, times = list(frames[1:]), list(durations)
    frames[0].save(sink, "GIF", save_all=True, append_images=more, duration=times, loop=0)
    return sink.getvalue()


def film_maker() -> Any:
    """Return what makes mp4 films, an extra of 80 MB, or say what to install."""
    try:
        import imageio_ffmpeg  # not everybody has it
    except ImportError as error:
        raise ComponentError(
            "mp4 needs imageio-ffmpeg: pip install 'ranking-policy-decisions[video]', or write "
            "a .webp file"
        ) from error
    return imageio_ffmpeg


def film_mp4(frames: Sequence[Image.Image], durations: Sequence[int]) -> bytes:
    """Return frames as an H.264 film; it needs the extra `video`."""
    imageio_ffmpeg = film_maker()
    width, height = (side + side % 2 for side in frames[0].size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        writer = imageio_ffmpeg.write_frames(
            str(path),
            (width, height),
            fps=FRAMES_PER_SECOND,
            macro_block_size=2,
            codec="libx264",
            output_params=["-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact"],
        )
        writer.send(None)
        for frame, duration in zip(frames, durations, strict=True):
            page = Image.new("RGB", (width, height), (255, 255, 255))
            page.paste(frame)
            for _ in range(max(1, round(duration * FRAMES_PER_SECOND / 1000))):
                writer.send(page.tobytes())
        writer.close()
        return path.read_bytes()
