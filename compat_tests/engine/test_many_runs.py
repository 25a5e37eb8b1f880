"""Some random programs, each run many times at several shapes: fuzz_many_runs.py runs more."""

from __future__ import annotations

import pytest

from fuzz_many_runs import differences
from jaxtorch._core.host import small_code, tiering
from jaxtorch._core.record import program
from jaxtorch._core.run import templates


@pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode")
@pytest.mark.filterwarnings("ignore")  # that there are no degrees of freedom, for some shapes
@pytest.mark.parametrize("seed", range(16))
def test_the_last_of_many_runs_is_as_right_as_the_first(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 4 == 1:
        monkeypatch.setattr(templates, "ENOUGH", 2)
    if seed % 4 == 2:
        monkeypatch.setattr(small_code, "made_in_c", None)
    if seed % 4 == 3:
        monkeypatch.setattr(tiering, "RUNS", 3)
    assert not (text := differences(seed)), text
