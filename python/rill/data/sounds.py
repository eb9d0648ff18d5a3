"""Sound files, a few seconds at a time."""

from __future__ import annotations

import contextlib
import os
import pathlib
import struct
import wave
from typing import BinaryIO, Iterator, List, Tuple

import numpy as np

_SUFFIXES = (".wav", ".flac", ".ogg")
#: Large enough for few calls per file, small enough to stay in a core's cache until the model reads
#: it.
_SECONDS_PER_BLOCK = 8


#: The size in the header of files from programs that write to a pipe: the true size is unknown.
_UNKNOWN = 0xffffffff


class SoundError(Exception):
    """A file without readable sound, or with another sample rate."""


def files_in(folder: pathlib.Path) -> List[str]:
    """Return the sound files in a folder and its subfolders, in order."""
    return sorted(str(path) for path in folder.rglob("*")
                  if path.suffix.lower() in _SUFFIXES and path.is_file())


def blocks(path: str, rate: int) -> Iterator[np.ndarray]:
    """Yield the samples of a file as f32 [samples], the mean of its channels, in blocks of at most
    eight seconds. A block is valid until the next one. Errors: SoundError."""
    _check_whole(path)
    with contextlib.ExitStack() as opened:
        try:
            # Python itself reads 16-bit WAV, in half the time of soundfile.
            raw = opened.enter_context(open(path, "rb"))
            file = opened.enter_context(wave.open(raw))
        except (wave.Error, EOFError, OSError) as error:
            problem = f"{error or type(error).__name__}"
        else:
            problem = f"{8 * file.getsampwidth()} bits"
            known = file.getnframes() < _UNKNOWN // (2 * file.getnchannels())
            if known and file.getsampwidth() == 2:
                yield from _wave_blocks(raw, file, rate)
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


def _wave_blocks(raw: BinaryIO, file: wave.Wave_read, rate: int) -> Iterator[np.ndarray]:
    """Yield the samples of a file after its header."""
    _check_rate(file.getframerate(), rate)
    left, channels = file.getnframes(), file.getnchannels()
    samples = np.empty(min(left, _SECONDS_PER_BLOCK * rate) * channels, "<i2")
    floats = np.empty(samples.shape, np.float32)
    while left > 0:
        try:
            bytes_read = raw.readinto(samples[:left * channels])
        except OSError as error:
            raise SoundError(f"{error or type(error).__name__}") from error
        frames = bytes_read // (2 * channels)
        if frames == 0:
            raise SoundError(f"the file ends {left} samples early")
        left -= frames
        read = slice(frames * channels)
        out = np.multiply(samples[read], np.float32(1 / 32768), out=floats[read])
        yield _mixed(out.reshape(frames, -1))


def _mixed(block: np.ndarray) -> np.ndarray:
    """Return the mean of the channels of a block [samples, channels]."""
    if block.shape[1] == 1:
        return block[:, 0]
    return block.mean(axis=1, dtype=np.float32)


def _check_whole(path: str) -> None:
    """Refuse a truncated WAV file, which readers treat as a shorter one."""
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
    """Return all samples of a file, and its seconds."""
    parts = [block.copy() for block in blocks(path, rate)]
    sound = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    return sound, len(sound) / rate
