from __future__ import annotations

from greymatch.report.colours import keys_of


def test_a_reference_keeps_its_colour_whatever_stands_beside_it() -> None:
    all_of_them = {key.label: key for key in keys_of("m", ["hold", "zero", "per-time mean", "physics only"])}
    some = {key.label: key for key in keys_of("m", ["physics only", "hold"])}
    assert some["physics only"] == all_of_them["physics only"]
    assert some["hold"] == all_of_them["hold"]


def test_no_two_lines_look_alike() -> None:
    keys = keys_of("m", ["hold", "zero", "something else", "physics only"])
    assert len({key.colour for key in keys}) == len(keys)
    assert len({key.dash for key in keys}) == len(keys)
