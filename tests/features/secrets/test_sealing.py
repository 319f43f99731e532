"""Sealing: what a sealed value holds and opens with, and where the keys come from."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path

import pytest

from ammeter.base.errors import SettingsError, Unavailable
from ammeter.features.secrets.sealing import KeyRing, key_id_of, open_key_ring

VALUE = "sk_live_51Habcdefghijklmnop"
OLD, NEW = b"o" * 32, b"n" * 32


def spelled(*keys: bytes) -> str:
    return ",".join(base64.b64encode(key).decode() for key in keys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sealing.key"


def write(file: Path, content: bytes, mode: int = 0o600) -> None:
    file.write_bytes(content)
    file.chmod(mode)


def test_a_sealed_value_opens_again_and_shows_nothing_of_itself() -> None:
    ring = KeyRing([OLD])
    for value in (VALUE, "x", "a\0b\nc", "schlüssel 🔑", "v" * 16_384):
        key_id, sealed = ring.seal(value, bound_to="org/NAME")
        assert key_id == key_id_of(OLD)
        if len(value) > 1:  # One byte turns up among thirty random ones now and then.
            assert value.encode() not in sealed
        assert ring.open(key_id, sealed, bound_to="org/NAME") == value


def test_the_same_value_is_sealed_differently_each_time() -> None:
    ring = KeyRing([OLD])
    assert len({ring.seal(VALUE, bound_to="org/NAME")[1] for _ in range(50)}) == 50


def test_a_sealed_value_opens_only_where_it_is_bound_to() -> None:
    ring = KeyRing([OLD])
    key_id, sealed = ring.seal(VALUE, bound_to="org/NAME")
    for elsewhere in ("org/OTHER", "other/NAME", "", "org/NAME "):
        with pytest.raises(Unavailable, match="set it again"):
            ring.open(key_id, sealed, bound_to=elsewhere)


def test_a_damaged_value_does_not_open_and_is_named() -> None:
    ring = KeyRing([OLD])
    key_id, sealed = ring.seal(VALUE, bound_to="org/NAME")
    flipped = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for damaged in (flipped, sealed[:-1], sealed + b"x", sealed[:12], sealed[:5], b""):
        with pytest.raises(Unavailable, match=r"org/NAME is damaged; set it again"):
            ring.open(key_id, damaged, bound_to="org/NAME")


def test_a_value_under_an_unknown_key_does_not_open_and_the_key_is_named_by_its_id() -> None:
    key_id, sealed = KeyRing([OLD]).seal(VALUE, bound_to="org/NAME")
    with pytest.raises(Unavailable, match=f"sealing key {key_id}"):
        KeyRing([NEW]).open(key_id, sealed, bound_to="org/NAME")


def test_the_first_start_makes_a_key_file_for_its_owner_alone(file: Path) -> None:
    made = open_key_ring(setting="", file=file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(base64.b64decode(file.read_text())) == 32
    assert open_key_ring(setting="", file=file).current_id == made.current_id
    assert list(file.parent.iterdir()) == [file]


def test_the_key_file_is_made_with_the_folder_it_is_to_be_in(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "sealing.key"
    open_key_ring(setting="", file=file)
    assert file.exists()


def test_processes_that_start_at_once_make_one_key(file: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ammeter.features.secrets.sealing import open_key_ring\n"
        "sys.stdin.readline(); print(open_key_ring(setting='', file=Path(sys.argv[1])).current_id)"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = {process.communicate(timeout=30)[0].strip() for process in started}
    assert said == {open_key_ring(setting="", file=file).current_id}
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_a_key_file_that_others_can_read_is_refused_with_the_remedy(file: Path, mode: int) -> None:
    write(file, spelled(OLD).encode(), mode)
    with pytest.raises(SettingsError, match=f"can be read by others; run: chmod 600 {file}"):
        open_key_ring(setting="", file=file)
    assert file.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \n",
        b"not base64!",
        base64.b64encode(b"short"),
        base64.b64encode(b"x" * 33),
        base64.b64encode(OLD) + b"\n" + base64.b64encode(b"short"),
        base64.b64encode(OLD)[:-1],
        "ключ".encode(),
        b"\xff\xfe\x00\x80",
        OLD,
    ],
)
def test_a_damaged_key_file_stops_the_start_and_is_left_as_it_is(file: Path, content: bytes) -> None:
    write(file, content)
    with pytest.raises(SettingsError, match=str(file)) as refusal:
        open_key_ring(setting="", file=file)
    assert file.read_bytes() == content
    for shown in content.decode("latin-1").split():
        assert shown not in refusal.value.message


def test_a_key_file_that_cannot_be_made_or_read_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("")
    (tmp_path / "folder").mkdir(mode=0o700)
    for file in (tmp_path / "occupied" / "sealing.key", tmp_path / "folder"):
        with pytest.raises(SettingsError, match=str(file)):
            open_key_ring(setting="", file=file)


def test_of_the_keys_of_a_setting_the_first_seals_and_all_open(file: Path) -> None:
    key_id, sealed = open_key_ring(setting=spelled(OLD), file=file).seal(VALUE, bound_to="a/B")
    both = open_key_ring(setting=f" {spelled(NEW)} , {spelled(OLD)},", file=file)
    assert both.open(key_id, sealed, bound_to="a/B") == VALUE
    assert both.seal(VALUE, bound_to="a/B")[0] == key_id_of(NEW) == both.current_id
    assert both.file is None
    assert not file.exists()


@pytest.mark.parametrize("setting", [",", " , ", "hunter2", "hunter2,", "ключ-hunter2", "aHVudGVyMg=="])
def test_a_setting_that_spells_no_keys_stops_the_start_without_being_shown(file: Path, setting: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^AMMETER_SEALING_KEYS: each sealing key is 32 bytes"
    ) as refusal:
        open_key_ring(setting=setting, file=file)
    assert "hunter2" not in refusal.value.message
    assert "\n" not in refusal.value.message


def test_a_rotation_by_another_process_is_noticed_when_sealing_and_when_opening(file: Path) -> None:
    ours, theirs = open_key_ring(setting="", file=file), open_key_ring(setting="", file=file)
    before = ours.seal(VALUE, bound_to="a/B")
    theirs.add_current()
    under_new = theirs.seal(VALUE, bound_to="a/B")
    assert ours.open(*under_new, bound_to="a/B") == VALUE
    assert ours.seal(VALUE, bound_to="a/B")[0] == under_new[0] == theirs.current_id
    assert ours.open(*before, bound_to="a/B") == VALUE
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_file_that_is_lost_while_the_server_runs_is_no_ones_path_to_learn(file: Path) -> None:
    ring = open_key_ring(setting="", file=file)
    sealed = ring.seal(VALUE, bound_to="a/B")
    file.unlink()
    assert ring.open(*sealed, bound_to="a/B") == VALUE
    with pytest.raises(Unavailable) as refusal:
        ring.seal(VALUE, bound_to="a/B")
    assert str(file) not in refusal.value.message
    with pytest.raises(Unavailable):
        ring.open("0" * 16, sealed[1], bound_to="a/B")
