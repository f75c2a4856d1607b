"""What every test shares: how hypothesis searches, that tests of a GPU skip themselves where there is none, and the
line that says how many injected faults were caught.
"""

import importlib.util
import os

import pytest
from hypothesis import settings

# No deadline: an exact check takes as long as it takes. In CI the examples are the same in every run.
settings.register_profile("suite", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("suite")

# pytest-xdist tells its workers how wide the terminal is; what a command prints into a pipe must not depend on that.
os.environ.pop("COLUMNS", None)


def missing_gpu() -> str | None:
    """Why a test marked `gpu` cannot run here, or None if it can."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: pip install 'geometric-recall[empirical]'"
    import torch

    return None if torch.cuda.is_available() else "there is no CUDA device"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu") is not None]
    reason = missing_gpu() if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What `test_fault_injection` found, summed over its tests."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    counts = [value for report in reports for name, value in report.user_properties if name == "faults"]
    if counts:
        faults, harmful, caught, right, accepted = (sum(column) for column in zip(*counts, strict=True))
        terminalreporter.write_line(
            f"fault injection: of {faults} single-entry faults {harmful} did harm, {caught} of these were caught by "
            f"checking every query; the certificate accepted {accepted} of the {right} harmless ones, and no other"
        )
