"""Score a corpus of sound files to Parquet: each file exactly once, even if workers die.

    summary = rill.data.score("recordings/", "vad.nnef.tgz", "scores/", symbols={"B": 1},
                              pulse=16000, workers=4)
    print(summary)

Needs pyarrow; soundfile for FLAC and other formats; Ray or Dask for these engines.
"""

from __future__ import annotations

from .engines import Progress, Summary, score
from .segments import segments
from .sounds import SoundError
from .work import Scored

__all__ = ["Progress", "Scored", "SoundError", "Summary", "score", "segments"]
