"""A Ray that rpd starts for itself is reached from this machine alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = pytest.mark.extras

PROGRAM = r"""
import json, os, re
from pathlib import Path
from rpd_ray.executor import Ray

def listening():
    found = {}
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                found[words[9]] = words[1].partition(":")[0]
    return found

def sockets_of(number):
    for one in Path("/proc", str(number), "fd").iterdir():
        try:
            match = re.fullmatch(r"socket:.(\d+).", os.readlink(one))
        except OSError:
            continue
        if match:
            yield match[1]

def ours(session):
    yield os.getpid()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if session.encode() in text:
            yield int(path.parent.name)

with Ray().open(1) as engine:
    engine.connect()
    import ray
    session = Path(ray._private.worker._global_node.get_session_dir_path()).name
    known = listening()
    inodes = {inode for number in ours(session) for inode in sockets_of(number)}
    print(json.dumps([address for inode, address in known.items() if inode in inodes]))
"""
LOOPBACK = {
    "0100007F",
    "0000000000000000FFFF00000100007F",
    "00000000000000000000000001000000",
}
"""127.0.0.1 and its like, as the kernel writes them."""


def test_what_ray_listens_on_is_the_loopback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) >= 3
    assert set(found) <= LOOPBACK
