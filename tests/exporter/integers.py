"""Arithmetic of integers on both sides of 0, and of integers with floats.

INTEGER_CASES is a list as `modules.py` describes.
"""

import torch

from modules import Cases, noise

INTEGER_CASES = Cases()
case = INTEGER_CASES.case
SIGNED = torch.arange(-9, 9)
DIVISORS = torch.tensor([3, -3, 2, -2, 5, -1, 7, 1, -7]).repeat(2)


def quotients():
    for by in (2, 3, 7, -2, -5):
        name = str(by).replace("-", "minus_")
        case(f"floored_by_{name}", lambda v, b=by: v // b, SIGNED)
        case(f"remainder_by_{name}", lambda v, b=by: v % b, SIGNED)
        case(f"fmod_by_{name}", lambda v, b=by: torch.fmod(v, b), SIGNED)
    for kind in (torch.int64, torch.int32):
        name = str(kind).rpartition(".")[2]
        a, b = SIGNED.to(kind), DIVISORS.to(kind)
        case(f"floored_{name}", lambda v, w: v // w, a, b)
        case(f"remainder_{name}", torch.remainder, a, b)
        case(f"fmod_{name}", torch.fmod, a, b)
    for mode in ("floor", "trunc"):
        case(f"divided_{mode}", lambda v, w, m=mode: torch.div(v, w, rounding_mode=m), SIGNED, DIVISORS)
        case(f"divided_by_three_{mode}", lambda v, m=mode: torch.div(v, 3, rounding_mode=m), SIGNED)
    case("difference_floored", lambda v: (v - 5) // 2, SIGNED)
    case("difference_remainder", lambda v: (v - 5) % 3, SIGNED)
    case("difference_fmod", lambda v: torch.fmod(v - 5, 3), SIGNED)
    case("negated_floored", lambda v: -(-v // 4), SIGNED)
    case("buckets", lambda v: ((v[None, :] - v[:, None]) // 3).clamp(-2, 2) + 2, SIGNED)
    for size in (1, 2, 7):
        case(f"size_floored_{size}", lambda x: x + (x.shape[1] - 5) // 2, noise(2, size), axes={1: "S"})
        case(f"size_remainder_{size}", lambda x: x + (x.shape[1] - 5) % 3, noise(2, size),
             axes={1: "S"})


def with_floats():
    case("whole_times_half", lambda v: v * 0.5, SIGNED)
    case("whole_plus_half", lambda v: v + 0.5, SIGNED)
    case("half_minus_whole", lambda v: 0.5 - v, SIGNED)
    case("whole_over_two", lambda v: v / 2, SIGNED)
    case("whole_over_half", lambda v: v / 2.5, SIGNED)
    case("whole_and_floats", lambda v, x: v + x, SIGNED, noise(18))
    case("floats_and_whole", lambda v, x: x * v, SIGNED, noise(18))
    case("whole_below_half", lambda v: v < 0.5, SIGNED)
    case("whole_of_floats_below", lambda v, x: v < x, SIGNED, noise(18, scale=5.0))
    case("larger_of_both", lambda v, x: torch.where(v > x, v, x), SIGNED, noise(18, scale=5.0))
    case("places_scaled", lambda x: x + torch.arange(x.shape[1], dtype=torch.float32) * 0.5,
         noise(2, 7), axes={1: "S"})
    case("places_turned", lambda x: x * torch.sin(torch.arange(x.shape[1], dtype=torch.float32)),
         noise(2, 7), axes={1: "S"})
    case("places_over_size", lambda x: x + torch.arange(x.shape[1]) / x.shape[1], noise(2, 7),
         axes={1: "S"})
    case("places_decay", lambda x: x * torch.exp(-0.1 * torch.arange(x.shape[1], dtype=torch.float32)),
         noise(2, 7), axes={1: "S"})
    case("places_times_two", lambda x: x + torch.arange(x.shape[1]).float() * 2.0, noise(2, 7),
         axes={1: "S"})
    case("whole_squared", lambda v: v ** 2, SIGNED)
    case("whole_to_half_power", lambda v: v.abs() ** 0.5, SIGNED)
    case("root_of_whole", lambda v: torch.sqrt(v.abs()), SIGNED)
    case("sine_of_whole", torch.sin, SIGNED)
    case("exponential_of_whole", lambda v: torch.exp(v * -1), SIGNED)
    case("sigmoid_of_whole", torch.sigmoid, SIGNED)
    case("mean_of_cast", lambda v: v.float().mean(), SIGNED)


for group in (quotients, with_floats):
    group()
