"""Sound files, a few seconds at a time."""

from __future__ import annotations

import os
import pathlib
import struct
import wave
from typing import Iterator, List, Tuple

import numpy as np

_SUFFIXES = (".wav", ".flac", ".ogg")
_SECONDS_PER_BLOCK = 10


class SoundError(Exception):
    """A file that holds no sound that can be read, or of another rate."""


def files_in(folder: pathlib.Path) -> List[str]:
    """The sound files in a folder and those within it, in order."""
    return sorted(str(path) for path in folder.rglob("*")
                  if path.suffix.lower() in _SUFFIXES and path.is_file())


def blocks(path: str, rate: int) -> Iterator[np.ndarray]:
    """Give the samples of a file as f32 [samples], of ten seconds at most, the mean of its
    channels. Errors: SoundError."""
    _check_whole(path)
    try:
        import soundfile
    except ImportError:
        yield from _wave_blocks(path, rate)
        return
    try:
        with soundfile.SoundFile(path) as file:
            _check_rate(file.samplerate, rate)
            left = file.frames
            for block in file.blocks(_SECONDS_PER_BLOCK * rate, dtype="float32", always_2d=True):
                left -= len(block)
                yield np.ascontiguousarray(block.mean(axis=1, dtype=np.float32))
            if left > 0:
                raise SoundError(f"the file ends {left} samples early")
    except (RuntimeError, OSError, TypeError) as error:
        raise SoundError(str(error)) from error


def _wave_blocks(path: str, rate: int) -> Iterator[np.ndarray]:
    """Files of 16 bits, which Python reads itself."""
    try:
        with wave.open(path, "rb") as file:
            _check_rate(file.getframerate(), rate)
            if file.getsampwidth() != 2:
                raise SoundError(f"{8 * file.getsampwidth()} bits: pip install soundfile")
            left = file.getnframes()
            while left > 0:
                data = file.readframes(min(left, _SECONDS_PER_BLOCK * rate))
                samples = np.frombuffer(data[:len(data) // 2 * 2], "<i2")
                frames = len(samples) // file.getnchannels()
                if frames == 0:
                    raise SoundError(f"the file ends {left} samples early")
                left -= frames
                samples = samples[:frames * file.getnchannels()].reshape(frames, -1)
                yield samples.mean(axis=1, dtype=np.float32) / np.float32(32768)
    except (wave.Error, EOFError, OSError) as error:
        raise SoundError(f"{error or type(error).__name__}") from error


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
                # Programs that write to a pipe leave the largest number.
                if kind == b"data" and length != 0xffffffff and file.tell() + length > size:
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
    parts = list(blocks(path, rate))
    sound = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    return sound, len(sound) / rate
