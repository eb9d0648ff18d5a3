"""Score a corpus of sound files: files in, Parquet out, each file once whatever dies.

    summary = rill.data.score("recordings/", "vad.nnef.tgz", "scores/", symbols={"B": 1},
                              pulse=16000, workers=4)
    print(summary)

Needs pyarrow, for FLAC and other formats soundfile, and for those engines Ray or Dask.
"""

from __future__ import annotations

from .engines import Progress, Summary, score
from .segments import segments
from .sounds import SoundError
from .work import Scored

__all__ = ["Progress", "Scored", "SoundError", "Summary", "score", "segments"]
