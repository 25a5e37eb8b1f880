"""The measuring scripts run, and find that their sides compute the same: on the smallest model, without timing anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RUNS = {
    "train_step": "--check --models mlp --sides jaxtorch,jax",
    "versus_jax": "--check --models mlp --sides flax,equinox,jax",
    "inference": "--check --models mlp --batches 1 --sides jaxtorch,torch",
    "memory": "--check --quick --models mlp --sides jaxtorch,torch",
    "overhead": "--check --quick --groups item",
    "dataloader": "--check --quick --images 64 --rounds 1 --workers 0",
    "checkouts": f"{BENCHMARKS.parent} --check --models mlp --kinds train,one",
    "compile_time": "--models mlp --rounds 1 --sides jaxtorch",
    "programs": "--names game_of_life --threads 1",
}

pytestmark = pytest.mark.skipif(
    os.environ.get("JAXTORCH_EXECUTION") == "immediate", reason="the scripts set the mode of their sides themselves"
)


@pytest.mark.parametrize("script", RUNS)
def test_script_runs(script, tmp_path):
    path = f"{BENCHMARKS.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / f"{script}.py"), *RUNS[script].split()],
        env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    told = run.stdout + run.stderr
    assert run.returncode == 0, told
    left_out = [line for line in told.splitlines() if "skipped" in line and "No module named" not in line]
    assert not left_out, told


def test_the_summary_says_what_the_data_files_say(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import report
    import summary

    assert summary.cell((0.904, False), 0.9) == "0.90" and summary.cell((0.91, True), 0.9) == "**~0.91**"
    assert summary.cell((0.99, False), 1.0, least=True) == "**0.99**"
    assert len(summary.summary()) >= 25
    _, steps = summary.rows("avx2", "train_step")
    assert {row["model"] for row in steps} == set(summary.MODELS)
    assert report.load("avx2", "no such table") is None


def test_tables_are_kept_as_they_are(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import report

    for path in sorted(report.RESULTS.rglob("*.json")):
        kept = report.load(path.parent.name, path.stem)
        tables = [(table["columns"], table["rows"]) for table in kept["tables"]]
        assert all(len(row) == len(columns) for columns, rows in tables for row in rows), path
        head = [kept[key] for key in ("date", "machine", "versions", "how")]
        assert path.read_text(encoding="utf-8") == report.as_json(*head, tables), path
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    about = report.machine(2)
    report.save("here", "x", about, ["- once"], [(["model", "us"], [["mlp", "3"], ["gpt", "4"]])])
    kept = report.load("here", "x")
    assert kept["how"] == ["once"] and kept["date"] == about["date"]
    assert kept["tables"] == [{"columns": ["model", "us"], "rows": [["mlp", "3"], ["gpt", "4"]]}]
