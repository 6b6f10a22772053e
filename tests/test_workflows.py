"""The workflows: what is published was tested."""

from pathlib import Path

import yaml

FOLDER = Path(__file__).resolve().parents[1] / ".github" / "workflows"


def test_pages_are_those_of_a_commit_whose_tests_passed():
    found = yaml.safe_load((FOLDER / "pages.yml").read_text(encoding="utf-8"))
    started = found[True]  # YAML takes the word "on" for it
    assert set(started) == {"workflow_run"}, "nothing else publishes"
    assert started["workflow_run"]["workflows"] == ["test"]
    (job,) = found["jobs"].values()
    assert "workflow_run.conclusion == 'success'" in job["if"]
    checkout = next(step for step in job["steps"] if "checkout" in step.get("uses", ""))
    assert checkout["with"]["ref"] == "${{ github.event.workflow_run.head_sha }}"
