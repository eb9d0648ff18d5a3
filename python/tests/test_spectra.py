"""STFT, mask, inverse STFT in one module: whole runs and streams against PyTorch at any length."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch_to_nnef", reason="torch_to_nnef is not installed")

import rill.torch as exports  # noqa: E402
from rill.torch import spectra  # noqa: E402

SOUND = {"wave": {0: "B", 1: "S"}}


class Denoiser(torch.nn.Module):
    """A real or complex mask of spectra, computed from the magnitudes with a state over time."""

    def __init__(self, n_fft, hop, center, window, complex_mask, length, normalized=False):
        super().__init__()
        self.settings = n_fft, hop
        self.named = {"center": center, "normalized": normalized}
        self.length = length
        self.complex_mask = complex_mask
        self.register_buffer("window", window)
        bins = n_fft // 2 + 1
        self.rnn = torch.nn.GRU(bins, 8, batch_first=True)
        self.head = torch.nn.Linear(8, 2 * bins if complex_mask else bins)

    def forward(self, wave):
        spectrum = torch.stft(wave, *self.settings, window=self.window, return_complex=True,
                              **self.named)
        mask = self.head(self.rnn(spectrum.abs().transpose(1, 2))[0]).transpose(1, 2)
        if self.complex_mask:
            real, imaginary = mask.tanh().chunk(2, 1)
            spectrum = spectrum * torch.complex(real, imaginary)
        else:
            spectrum = spectrum * torch.sigmoid(mask)
        return torch.istft(spectrum, *self.settings, window=self.window,
                           length=wave.shape[-1] if self.length else None, **self.named)


HANN, HAMMING = torch.hann_window, torch.hamming_window


def root_of_hann(size):
    return torch.hann_window(size).sqrt()


# n_fft, hop, center, window, complex mask, length given.
DENOISERS = {
    "hop N/4": (64, 16, True, HANN, False, False),
    "hop N/2, root of Hann": (64, 32, True, root_of_hann, False, False),
    "complex mask": (64, 16, True, HANN, True, False),
    "not centred": (64, 16, False, HAMMING, False, False),
    "not centred, hop N/2": (32, 16, False, HAMMING, True, False),
    "length given": (64, 32, True, HANN, False, True),
}


@pytest.mark.parametrize("name", DENOISERS)
def test_denoisers_stream_with_the_least_delay(name):
    torch.manual_seed(1)
    n_fft, hop, center, window, complex_mask, length = DENOISERS[name]
    module = Denoiser(n_fft, hop, center, window(n_fft), complex_mask, length)
    report = exports.export(module, torch.randn(2, 400), SOUND, "S", exporters=["nnef"])
    assert report.ok, str(report)
    # A block of `hop` samples is covered by frames up to one that ends n_fft - hop samples after the block.
    (output,) = report.latencies[max(report.latencies)].outputs
    assert output.delay_input_frames == n_fft - hop
    for samples in (n_fft, 331, 1024):
        wave = torch.randn(3, samples, generator=torch.Generator().manual_seed(samples))
        with torch.no_grad():
            wanted = module.eval()(wave).numpy()
        np.testing.assert_allclose(report.model(wave), wanted, rtol=1e-3, atol=1e-5)


# n_fft, hop, size of the window, center, normalized, onesided, length.
INVERSES = [(512, 128, None, True, False, None, None), (512, 128, 400, True, True, None, 4000),
            (64, 32, None, True, False, False, 999), (63, 16, None, True, False, None, 950),
            (64, 16, 40, True, True, None, None), (64, 16, None, False, False, None, 1000),
            (48, 24, None, True, False, None, None), (64, None, None, True, False, None, None)]


@pytest.mark.parametrize("settings", INVERSES, ids=str)
@pytest.mark.filterwarnings("ignore:The length of signal")
def test_the_overlap_add_equals_istft(settings):
    n_fft, hop, size, center, normalized, onesided, length = settings
    draw = torch.Generator().manual_seed(n_fft)
    window = torch.hann_window(size or n_fft) + (0 if center else 0.05)
    wave = torch.randn(2, 4096 if n_fft == 512 else 1000, generator=draw)
    spectrum = torch.stft(wave, n_fft, hop, size, window=window, center=center,
                          normalized=normalized, onesided=onesided is not False,
                          return_complex=True)
    spectrum = spectrum * torch.randn(spectrum.shape, generator=draw)
    named = {"win_length": size, "center": center, "normalized": normalized,
             "onesided": onesided, "length": length}
    exact = torch.istft(spectrum.to(torch.complex128), n_fft, hop, window=window.double(), **named)
    for given, wanted in ((spectrum, exact), (spectrum[0], exact[0])):
        found = spectra.istft(given, n_fft, hop, window=window, **named)
        # Sums of 2 * n_fft products in f32, divided by an envelope that the window bounds.
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * float(wanted.abs().max()))


def test_an_export_restores_the_transform_of_pytorch():
    def functions():
        return (torch.istft, torch.functional.istft, torch.Tensor.istft, torch.mul,
                torch.Tensor.mul, torch.Tensor.__mul__, torch.Tensor.__rmul__)

    before = functions()
    module = Denoiser(32, 8, True, HANN(32), False, False)
    exports.export(module, torch.randn(1, 100), SOUND, exporters=["nnef"])
    assert before == functions()


@pytest.mark.parametrize("form", [
    lambda a, b: a * b, lambda a, b: a.mul(b), lambda a, b: torch.mul(a, b), lambda a, b: 2 * a * b,
])
def test_complex_products_are_exported_as_products_of_their_parts(form):
    class Products(torch.nn.Module):
        def forward(self, a, b):
            a, b = torch.view_as_complex(a), torch.view_as_complex(b)
            return torch.view_as_real(form(a, b))

    example = torch.randn(3, 20, 2), torch.randn(3, 20, 2)
    report = exports.export(Products(), example, {"a": {1: "S"}, "b": {1: "S"}}, "S", pulses=[4],
                            exporters=["nnef"])
    assert report.ok, str(report)
