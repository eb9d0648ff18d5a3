"""Sound files, a few seconds at a time."""

from __future__ import annotations

import os
import pathlib
import struct
import wave
from typing import Iterator, List, Tuple

import numpy as np

_SUFFIXES = (".wav", ".flac", ".ogg")
#: Blocks that stay in a core's cache between the file and the model.
_SECONDS_PER_BLOCK = 2


#: What programs that write to a pipe leave for the bytes of all samples.
_UNKNOWN = 0xffffffff


class SoundError(Exception):
    """A file that holds no sound that can be read, or of another rate."""


def files_in(folder: pathlib.Path) -> List[str]:
    """The sound files in a folder and those within it, in order."""
    return sorted(str(path) for path in folder.rglob("*")
                  if path.suffix.lower() in _SUFFIXES and path.is_file())


def blocks(path: str, rate: int) -> Iterator[np.ndarray]:
    """Give the samples of a file as f32 [samples], of two seconds at most, the mean of its
    channels. A block is good until the next one. Errors: SoundError."""
    _check_whole(path)
    try:
        # Python itself reads WAV of 16 bits, at half of what soundfile takes for it.
        file = wave.open(path, "rb")
        problem = f"{8 * file.getsampwidth()} bits"
    except (wave.Error, EOFError, OSError) as error:
        file, problem = None, f"{error or type(error).__name__}"
    if file is not None:
        with file:
            known = file.getnframes() < _UNKNOWN // (2 * file.getnchannels())
            if known and file.getsampwidth() == 2:
                yield from _wave_blocks(file, rate)
                return
    try:
        import soundfile
    except ImportError:
        raise SoundError(f"{problem}: for files other than WAV of 16 bits, "
                         "pip install soundfile") from None
    try:
        with soundfile.SoundFile(path) as file:
            _check_rate(file.samplerate, rate)
            left = file.frames
            for block in file.blocks(_SECONDS_PER_BLOCK * rate, dtype="float32", always_2d=True):
                left -= len(block)
                yield _mixed(block)
            if left > 0:
                raise SoundError(f"the file ends {left} samples early")
    except (RuntimeError, OSError, TypeError) as error:
        raise SoundError(str(error)) from error


def _wave_blocks(file: wave.Wave_read, rate: int) -> Iterator[np.ndarray]:
    _check_rate(file.getframerate(), rate)
    left = file.getnframes()
    room = np.empty(_SECONDS_PER_BLOCK * rate * file.getnchannels(), np.float32)
    while left > 0:
        try:
            data = file.readframes(min(left, _SECONDS_PER_BLOCK * rate))
        except (wave.Error, EOFError, OSError) as error:
            raise SoundError(f"{error or type(error).__name__}") from error
        frames = len(data) // (2 * file.getnchannels())
        if frames == 0:
            raise SoundError(f"the file ends {left} samples early")
        left -= frames
        samples = np.frombuffer(data, "<i2", frames * file.getnchannels())
        out = np.multiply(samples, np.float32(1 / 32768), out=room[:len(samples)])
        yield _mixed(out.reshape(frames, -1))


def _mixed(block: np.ndarray) -> np.ndarray:
    """The mean of the channels of a block [samples, channels]."""
    if block.shape[1] == 1:
        return block[:, 0]
    return block.mean(axis=1, dtype=np.float32)


def _check_whole(path: str) -> None:
    """Refuse a WAV file that ends before its samples do, which readers take for a shorter one."""
    try:
        with open(path, "rb") as file:
            head = file.read(12)
            if head[:4] != b"RIFF" or head[8:] != b"WAVE":
                return
            size = os.fstat(file.fileno()).st_size
            while True:
                kind, length = struct.unpack("<4sI", file.read(8).ljust(8, b"\0"))
                if kind == b"data" and length != _UNKNOWN and file.tell() + length > size:
                    raise SoundError(f"the file has {size - file.tell()} bytes of samples, "
                                     f"expected {length}")
                if kind == b"data" or file.tell() >= size:
                    return
                file.seek(length + length % 2, os.SEEK_CUR)
    except OSError as error:
        raise SoundError(str(error)) from error


def _check_rate(found: int, wanted: int) -> None:
    if found != wanted:
        raise SoundError(f"{found} samples per second, expected {wanted}")


def joined(path: str, rate: int) -> Tuple[np.ndarray, float]:
    """Give all samples of a file, and its seconds."""
    parts = [block.copy() for block in blocks(path, rate)]
    sound = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    return sound, len(sound) / rate
