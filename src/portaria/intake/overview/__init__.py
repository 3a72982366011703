"""The intake as people look at it: how it answers, what waits, and the archive browsed a page at a time.

Nothing here is on the way of a message. A list looks at a bounded number of rows and then says how far
it came, so that a rare thing in an archive of millions costs one click more, not one slow page.
"""

from portaria.intake.overview.browse import (
    Browse,
    Found,
    Listed,
    browse_arrivals,
    count_replayable,
    replayable_after,
)
from portaria.intake.overview.figures import Figures, MinuteFigures, read_figures, read_minutes
from portaria.intake.overview.minutes import Minutes

__all__ = [
    "Browse",
    "Figures",
    "Found",
    "Listed",
    "MinuteFigures",
    "Minutes",
    "browse_arrivals",
    "count_replayable",
    "read_figures",
    "read_minutes",
    "replayable_after",
]
