"""Where the tests find what they read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "paper_figs" / "results"
