"""What editors and type checkers see of `import harness` are the declarations of its options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.packages import need

CHECKOUT = Path(__file__).resolve().parents[2]
RIGHT = """
import harness

run = harness.run("toxicity", judges=["gpt"], max_cost=3, elicitations="paired", out="runs")
validation: harness.Validation = run.validation
harness.validate("toxicity", [{"item": "a", "judge": "j", "value": "A"}], metric="mse(srs/srs)")
"""


def test_the_stub_is_fresh(tmp_path):
    """An option that is declared is completed at once."""
    file = tmp_path / "__init__.pyi"
    subprocess.run([sys.executable, CHECKOUT / "docs/stub.py", file], check=True)
    committed = (CHECKOUT / "harness/__init__.pyi").read_text(encoding="utf-8")
    assert committed == file.read_text(encoding="utf-8"), "stale; run: python docs/stub.py"
    assert "    max_cost: float | None = None,\n" in committed


@pytest.mark.slow
def test_a_misspelt_option_fails_the_type_check(tmp_path):
    """`harness.run("toxicity", max_costt=3)` passed `mypy --strict`, as the options were `Any`."""
    need("mypy")
    (tmp_path / "right.py").write_text(RIGHT)
    wrong = {
        'harness.run("toxicity", max_costt=3)': 'Unexpected keyword argument "max_costt"',
        'harness.run("toxicity", max_cost="3")': 'Argument "max_cost" to "run" has incompatible',
        'harness.estimate(judge="j", items="i", metric="f1")': 'keyword argument "metric"',
        'harness.validate("toxicity", mode="sometimes")': 'Argument "mode" to "validate"',
        "harness.runn": 'has no attribute "runn"',
    }
    (tmp_path / "wrong.py").write_text("import harness\n\n" + "\n".join(wrong) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "right.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == len(wrong), done.stdout + done.stderr
    for line, error in zip(wrong.values(), errors, strict=True):
        assert error.startswith("wrong.py:")
        assert line in error
