"""`greymatch weather simulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from greymatch.cli.files import folder
from greymatch.cli.options import Json, Quiet, Seed
from greymatch.cli.output import Output
from greymatch.cli.weather.options import Layout, Out
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.weather.meter import Meter
    from greymatch.weather.simulation.run import Tell

EXAMPLE = "Example: greymatch weather simulate --years 7 --out atmosphere --layout wb1"


def command(
    out: Out,
    years: Annotated[int, typer.Option(min=1, help="How many years.")] = 7,
    first: Annotated[int, typer.Option(min=1700, max=2200, help="What the first year is called.")] = 2012,
    layout: Annotated[list[Layout], typer.Option(help="wb1, wb2, or both by giving it twice.")] = [Layout.WB1],  # noqa: B006
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Simulate an atmosphere with seasons, days, land and mountains, and keep it as WeatherBench keeps ERA5.

    It takes one to a few minutes for each year, and the extra greymatch\\[simulate]. Years that are there are kept.
    """
    _check_installed()
    from greymatch.weather.meter import meter
    from greymatch.weather.simulation.run import Recipe, simulate

    shown = meter(quiet)
    try:
        asked = range(first, first + years)
        made = simulate(folder(out), asked, [str(one) for one in layout], Recipe(seed=seed), _telling(shown))
    finally:
        shown.close()
    output = Output(quiet, as_json)
    kept = years - len(made)
    output.show(f"simulated {len(made)} years into {out}" + (f", {kept} were there" if kept else ""))
    output.finish({"out": str(out), "made": made, "years": list(asked), "layouts": [str(one) for one in layout]})


def _telling(shown: Meter) -> Tell:
    def tell(year: int, day: int, days: int) -> None:
        if day == 1:
            shown.begin(f"year {year}", days)
        shown.advance(1)

    return tell


def _check_installed() -> None:
    try:
        import dinosaur  # pyright: ignore[reportMissingImports] # noqa: F401
    except ImportError:
        raise GreymatchError(
            "`greymatch weather simulate` needs the dinosaur dynamical core: pip install 'greymatch[simulate]'."
        ) from None
