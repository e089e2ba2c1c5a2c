"""Append-only logs of lines with checksums."""

import pytest

from harness.files.checksummed_log import (
    ChecksummedLog,
    DamagedLine,
    with_checksum,
    without_checksum,
)

LINES = [with_checksum(b'{"n":%d}' % n) for n in range(3)]


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("n_torn", [1, 5, len(LINES[2]) - 1])
def test_a_torn_last_line_is_cut_off_on_opening_and_others_stay(tmp_path, n_torn, durable):
    """What a killed process left of a line is removed; whole lines and later ones are read."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(LINES[0] + LINES[2][:n_torn])
    with ChecksummedLog(path, durable=durable) as log:
        log.write(LINES[1])
        assert log.size == path.stat().st_size
    assert path.read_bytes() == LINES[0] + LINES[1]


def test_only_one_process_has_a_log_open(tmp_path):
    """A second opening fails and changes nothing, until the first is closed."""
    path = tmp_path / "log.jsonl"
    with ChecksummedLog(path) as log:
        log.write(LINES[0] + LINES[1][:3])
        with pytest.raises(BlockingIOError):
            ChecksummedLog(path)
        assert path.read_bytes() == LINES[0] + LINES[1][:3]
    with ChecksummedLog(path):
        assert path.read_bytes() == LINES[0]


def test_every_changed_byte_of_a_line_is_noticed():
    """A line with any other byte in any place is damaged."""
    assert without_checksum(LINES[1]) == b'{"n":1}'
    for place in range(len(LINES[1]) - 1):
        changed = bytearray(LINES[1])
        changed[place] ^= 1
        with pytest.raises(DamagedLine):
            without_checksum(bytes(changed))
