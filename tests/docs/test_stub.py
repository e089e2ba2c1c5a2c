"""What editors and type checkers see of `import harness` are the declarations of its options."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.packages import need

RIGHT = """
import harness

run = harness.run("toxicity", judges=["gpt"], max_cost=3, elicitations="paired", out="runs")
validation: harness.Validation = run.validation
harness.validate("toxicity", [{"item": "a", "judge": "j", "value": "A"}], metric="mse(srs/srs)")
"""


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
        "harness.walk": 'has no attribute "walk"',
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
