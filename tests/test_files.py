from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import greymatch
from greymatch.errors import GreymatchError
from greymatch.files import HEADER, read_tensors, write_bytes, write_tensors

SOURCE = Path(greymatch.__file__).parent
TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2]), "empty": torch.zeros(0, 3)}


def test_tensors_and_header_come_back_exactly(tmp_path: Path):
    header = {"kind": "test", "number": 0.1 + 0.2, "nested": {"list": [1, None, "ü"]}, "nan": float("inf")}
    write_tensors(tmp_path / "deep" / "a.safetensors", TENSORS, header)
    tensors, found = read_tensors(tmp_path / "deep" / "a.safetensors")
    assert found == header
    assert tensors.keys() == TENSORS.keys()
    for name, value in TENSORS.items():
        assert torch.equal(tensors[name], value)
        assert tensors[name].dtype == value.dtype


def test_views_and_gradients_do_not_get_in_the_way(tmp_path: Path):
    leaf = torch.randn(4, 4, requires_grad=True)
    write_tensors(tmp_path / "a.safetensors", {"turned": leaf.T, "cut": leaf[1:, ::2]}, {})
    found, _ = read_tensors(tmp_path / "a.safetensors")
    assert torch.equal(found["turned"], leaf.T)
    assert torch.equal(found["cut"], leaf[1:, ::2])


def test_every_shorter_file_is_refused(tmp_path: Path):
    write_tensors(tmp_path / "a.safetensors", TENSORS, {"kind": "test"})
    whole = (tmp_path / "a.safetensors").read_bytes()
    for length in [0, 4, 8, 20, len(whole) // 2, len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(GreymatchError, match="is not a whole greymatch file"):
            read_tensors(tmp_path / "cut")


def test_a_file_changed_after_it_was_written_is_refused(tmp_path: Path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, TENSORS, {"kind": "test", "window": 10})
    whole = bytearray(path.read_bytes())
    for changed in (
        whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:],
        whole.replace(b'window\\": 10', b'window\\": 11'),
    ):
        assert changed != whole
        path.write_bytes(changed)
        with pytest.raises(GreymatchError, match="was changed after it was written"):
            read_tensors(path)
    path.write_bytes(whole)
    assert read_tensors(path)[1]["window"] == 10


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("make", ["pickle", "torch", "random", "text", "other safetensors", "header of another kind"])
def test_foreign_files_are_refused_and_never_run(tmp_path: Path, make: str):
    path, trap = tmp_path / "model.safetensors", tmp_path / "trap"
    if make == "pickle":
        path.write_bytes(pickle.dumps(Bomb(trap)))
    elif make == "torch":
        torch.save({"a": torch.ones(2), "b": Bomb(trap)}, path)
    elif make == "random":
        path.write_bytes(bytes(torch.randint(256, (4096,), generator=torch.Generator().manual_seed(0)).tolist()))
    elif make == "text":
        path.write_text("this is not a model\n" * 100)
    else:
        save_file(TENSORS, path, metadata={HEADER: "[1, 2]"} if make.startswith("header") else {"format": "pt"})
    with pytest.raises(GreymatchError, match=r"is not a whole greymatch file|holds no greymatch header"):
        read_tensors(path)
    assert not trap.exists()


@pytest.mark.parametrize("header", ["{", "[" * 100_000, "1" * 5000, ""])
def test_a_broken_header_is_refused(tmp_path: Path, header: str):
    save_file(TENSORS, tmp_path / "a", metadata={HEADER: header})
    with pytest.raises(GreymatchError, match="is not a whole greymatch file"):
        read_tensors(tmp_path / "a")


def test_what_is_not_there_is_named(tmp_path: Path):
    for path, said in ((tmp_path / "missing.safetensors", "does not exist"), (tmp_path, "is a folder. Name the file")):
        with pytest.raises(GreymatchError, match=said):
            read_tensors(path)


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_bytes(tmp_path / "a", b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GreymatchError, match=r"cannot write .*No space left on device"):
        write_bytes(tmp_path / "a", b"new and longer")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_place_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(GreymatchError, match="cannot write"):
        write_bytes(tmp_path / "file" / "a", b"1")
    (tmp_path / "folder").mkdir()
    with pytest.raises(GreymatchError, match="cannot write"):
        write_bytes(tmp_path / "folder", b"1")


def test_a_process_killed_while_writing_leaves_a_whole_file(tmp_path: Path):
    code = """
import sys, torch
from pathlib import Path
from greymatch.files import write_tensors
number = 0
while True:
    number += 1
    write_tensors(Path(sys.argv[1]), {"a": torch.full((200_000,), float(number))}, {"number": number})
    print(number, flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    path = tmp_path / "a.safetensors"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=environment)
    with process:
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    tensors, header = read_tensors(path)
    assert header["number"] >= 5
    assert tensors["a"].unique().tolist() == [header["number"]]


def test_nothing_in_the_package_unpickles():
    unsafe = re.compile(
        r"import pickle|from pickle|torch\.(load|save)\(|allow_pickle=True|read_pickle|import (joblib|dill)"
    )
    found = {str(file): unsafe.findall(file.read_text()) for file in SOURCE.rglob("*.py")}
    assert not any(found.values()), {file: uses for file, uses in found.items() if uses}
