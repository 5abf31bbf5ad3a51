"""Land and mountains of a planet much like the Earth: coasts of a few points, ranges as smooth bumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# corners of each coast as (longitude east, latitude north), in degrees
COASTS: dict[str, tuple[tuple[float, float], ...]] = {
    "Africa": (
        (-6, 35), (10, 37), (32, 31), (43, 11), (51, 11), (40, -5), (40, -16), (33, -27), (20, -35), (13, -18), (9, 2),
        (-8, 5), (-17, 14), (-16, 22),
    ),
    "Eurasia": (
        (-9, 37), (-9, 43), (-1, 46), (8, 55), (5, 61), (15, 69), (30, 71), (60, 69), (75, 73), (105, 78), (140, 73),
        (180, 69), (190, 66), (170, 60), (162, 57), (157, 51), (155, 59), (137, 54), (128, 40), (121, 31), (108, 20),
        (105, 9), (100, 14), (96, 17), (90, 22), (80, 14), (77, 8), (72, 20), (57, 24), (60, 21), (44, 13), (35, 28),
        (36, 36), (27, 37), (23, 38), (14, 41), (5, 43), (-1, 37),
    ),
    "North America": (
        (-168, 66), (-156, 71), (-125, 70), (-95, 72), (-82, 68), (-94, 60), (-80, 52), (-78, 62), (-65, 59), (-56, 52),
        (-66, 44), (-76, 35), (-81, 26), (-84, 30), (-97, 27), (-95, 18), (-88, 21), (-83, 10), (-79, 8), (-90, 14),
        (-105, 20), (-114, 30), (-124, 40), (-124, 48), (-135, 58), (-152, 60), (-165, 55),
    ),
    "South America": (
        (-78, 8), (-62, 11), (-50, 0), (-35, -6), (-40, -20), (-48, -27), (-57, -36), (-65, -42), (-69, -54),
        (-74, -50), (-71, -30), (-71, -18), (-81, -5),
    ),
    "Australia": (
        (114, -22), (122, -18), (131, -12), (137, -15), (142, -11), (146, -19), (153, -27), (150, -37), (140, -38),
        (130, -32), (116, -35),
    ),
    "Greenland": ((-45, 60), (-22, 70), (-20, 80), (-40, 83), (-65, 79), (-54, 70)),
    "Antarctica": (
        (-180, -78), (-150, -76), (-100, -73), (-60, -66), (-60, -75), (-20, -73), (10, -70), (50, -67), (110, -66),
        (140, -67), (170, -72), (180, -78), (180, -90), (-180, -90),
    ),
    "New Guinea": ((131, -1), (142, -3), (150, -10), (138, -8)),
    "Borneo": ((109, 1), (117, 7), (118, 1), (114, -4)),
}  # fmt: skip


@dataclass(frozen=True)
class Range:
    """Mountains of height `metres` that fall to exp(-1) over `north` and `east` degrees from their middle."""

    latitude: float
    longitude: float
    north: float
    east: float
    metres: float


RANGES = (
    Range(33, 88, 7, 14, 4200),  # Tibet
    Range(46, 95, 7, 16, 1500),  # Altai
    Range(34, 52, 6, 13, 1200),  # Iran
    Range(46, 10, 4, 7, 900),  # Alps
    Range(63, 135, 9, 22, 700),  # eastern Siberia
    Range(42, -110, 12, 8, 2100),  # Rockies
    Range(60, -130, 8, 10, 1100),  # Alaska
    Range(21, -102, 6, 6, 1300),  # Mexico
    Range(-5, -77, 9, 5, 2000),  # Andes
    Range(-20, -67, 11, 5, 3300),
    Range(-40, -71, 10, 4, 1100),
    Range(73, -40, 8, 14, 2500),  # Greenland
    Range(-80, 80, 12, 70, 3000),  # Antarctica
    Range(2, 35, 13, 7, 1400),  # East Africa
    Range(-28, 27, 8, 8, 1200),  # southern Africa
)
LOWLAND = 200.0  # metres
_WITHIN = 6  # points along each side of a cell that are asked whether they are land


def land_fraction(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Part of each cell (lat, lon) that is land; the centres of the cells are given in degrees."""
    inside = (np.arange(_WITHIN) + 0.5) / _WITHIN - 0.5
    south_north = latitude[:, None] + inside * abs(_step(latitude))
    west_east = longitude[:, None] + inside * abs(_step(longitude))
    land = _is_land(south_north.ravel(), west_east.ravel())
    return land.reshape(len(latitude), _WITHIN, len(longitude), _WITHIN).mean(axis=(1, 3))


def mountains(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Height of the ground (lat, lon) in metres, before a model smooths it to what it resolves."""
    height = np.full((len(latitude), len(longitude)), LOWLAND)
    for one in RANGES:
        east = (longitude - one.longitude + 180) % 360 - 180
        north = latitude[:, None] - one.latitude
        height += one.metres * np.exp(-((north / one.north) ** 2) - (east / one.east) ** 2)
    return height * land_fraction(latitude, longitude)


def _step(points: np.ndarray) -> float:
    return float(np.diff(points).mean())


def _is_land(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    from matplotlib.path import Path

    east, north = np.meshgrid((longitude + 180) % 360 - 180, np.clip(latitude, -90, 90))
    points = np.stack([east.ravel(), north.ravel()], axis=1)
    beyond = points + np.array([360.0, 0.0])  # coasts that cross the date line go on to the east of it
    coasts = [Path(coast) for coast in COASTS.values()]
    land = np.any([coast.contains_points(points) | coast.contains_points(beyond) for coast in coasts], axis=0)
    return land.reshape(east.shape)
