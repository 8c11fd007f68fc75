"""Every mechanism of HLDG removed alone takes a printed figure out of its tolerance (docs/ablation.md)."""

from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "experiments" / "ablation").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_mechanism_is_for(path: Path) -> None:
    """The claims of the file hold: with the mechanism the figure is within its tolerance, without it is not."""
    result = sojourn.run(path)
    claims = sojourn.api.claims(result)
    assert sum(claim.name.startswith("without ") for claim in claims) >= 1
    assert [claim.why for claim in claims if not claim.holds] == []


def test_every_mechanism_is_there() -> None:
    """The switches of HLDG that turn a mechanism off are all in an ablation and on the page."""
    text = "".join(path.read_text("utf-8") for path in FILES)
    page = (ROOT / "docs" / "ablation.md").read_text("utf-8")
    for switch in (
        "wwma",
        "zsgw",
        "bdp",
        "accumulate",
        "gradient_fix",
        "threshold",
        "adaptive_g",
        "mode_switch",
        "westwood",
        "use_shadow",
    ):
        assert f"{switch}=false" in text and f"{switch}=false" in page, switch
    assert "base_window=0s" in text and "slow_start=standard" in text and "loss_dwell=600s" in text
