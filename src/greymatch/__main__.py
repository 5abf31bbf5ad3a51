"""`python -m greymatch`, where the console script is not installed."""

from __future__ import annotations

from greymatch.cli import main

if __name__ == "__main__":
    main()
