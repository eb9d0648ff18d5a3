"""Whole architectures of torchvision, torchaudio and transformers, small and with random weights.

ARCHITECTURE_CASES is a list as `modules.py` describes. Architectures of packages that are not installed are
left out, and named in LEFT_OUT.
"""

import torch
from torch import nn
from torch.nn import functional as F

from modules import Cases, noise, whole

ARCHITECTURE_CASES = Cases()
LEFT_OUT = []
made = ARCHITECTURE_CASES.made


def settled(model):
    """Randomise running statistics, so that norms are not the identity."""
    for module in model.modules():
        if getattr(module, "running_mean", None) is not None:
            module.running_mean.normal_(std=0.2)
            module.running_var.uniform_(0.5, 1.5)
    return model.eval()


class Part(nn.Module):
    """Return one output of a module, with some inputs fixed."""

    def __init__(self, module, pick, **options):
        super().__init__()
        self.module = module
        self.pick = pick
        self.options = options

    def forward(self, *inputs):
        return self.pick(self.module(*inputs, **self.options))


def first(result):
    return result[0]


def vision():
    import torchvision.models as zoo

    def image(name, size=64, **options):
        made(f"vision_{name}", lambda: (
            settled(getattr(zoo, name)(weights=None, num_classes=10, **options)), (
                noise(1, 3, size, size),), None))

    for name in ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0",
                 "efficientnet_v2_s", "mnasnet0_5", "shufflenet_v2_x0_5", "regnet_y_400mf",
                 "convnext_tiny", "densenet121", "resnext50_32x4d"):
        image(name)
    image("alexnet", 224)
    image("vgg11_bn", 224)
    image("inception_v3", 128, init_weights=False, transform_input=True)
    made("vision_vit", lambda: (zoo.VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32,
        num_classes=10).eval(), (noise(1, 3, 32, 32),), None))
    made("vision_video", lambda: (settled(zoo.video.r3d_18(weights=None, num_classes=5)),
                                  (noise(1, 3, 4, 32, 32),), None))
    made("vision_open_image", lambda: (settled(zoo.mobilenet_v2(weights=None, num_classes=10)),
                                       (noise(2, 3, 64, 64),), {0: "B"}))


def audio():
    torch.version.cuda = None  # torchaudio checks for CUDA, which is not used here
    from torchaudio import models as zoo
    from torchaudio.models.wavernn import UpsampleNetwork

    made("audio_deepspeech", lambda: (zoo.DeepSpeech(64, n_hidden=32).eval(),
                                      (noise(1, 1, 20, 64),), {2: "S"}))
    made("audio_wav2letter", lambda: (zoo.Wav2Letter(num_classes=10, input_type="mfcc",
                                                     num_features=13).eval(),
                                      (noise(1, 13, 60),), None))
    conformer = dict(num_heads=2, num_layers=2, ffn_dim=16, depthwise_conv_kernel_size=7)
    made("audio_conformer", lambda: (Part(settled(zoo.Conformer(8, **conformer)), first),
                                     (noise(1, 20, 8), torch.tensor([20])), None))
    made("audio_conformer_group_norm", lambda: (
        Part(zoo.Conformer(8, use_group_norm=True, convolution_first=True, **conformer).eval(), first),
        (noise(1, 20, 8), torch.tensor([20])), None))
    made("audio_conv_tasnet", lambda: (zoo.ConvTasNet(
        num_sources=2, enc_kernel_size=16, enc_num_feats=16, msk_num_feats=8, msk_num_hidden_feats=16,
        msk_num_layers=2, msk_num_stacks=2).eval(), (noise(1, 1, 256),), None))
    small = dict(
        extractor_mode="group_norm", extractor_conv_layer_config=[(8, 10, 5), (8, 3, 2), (8, 2, 2)],
        extractor_conv_bias=False, encoder_embed_dim=16, encoder_projection_dropout=0.0,
        encoder_pos_conv_kernel=8, encoder_pos_conv_groups=2, encoder_num_layers=2,
        encoder_num_heads=2, encoder_attention_dropout=0.0, encoder_ff_interm_features=32,
        encoder_ff_interm_dropout=0.0, encoder_dropout=0.0, encoder_layer_norm_first=False,
        encoder_layer_drop=0.0, aux_num_out=12)
    made("audio_wav2vec2_encoder", lambda: (zoo.wav2vec2_model(**small).eval().encoder,
                                            (noise(1, 12, 8),), None))
    made("audio_tacotron_postnet", lambda: (settled(zoo.Tacotron2(n_mels=8).postnet),
                                            (noise(1, 8, 20),), None))
    made("audio_tacotron_encoder", lambda: (Part(settled(zoo.Tacotron2().encoder.convolutions[0]),
                                                 torch.tanh), (noise(1, 512, 12),), None))
    made("audio_wavernn_upsampler", lambda: (Part(settled(UpsampleNetwork(
        [2, 2], n_res_block=2, n_freq=8, n_hidden=8, n_output=8, kernel_size=3)), first),
        (noise(1, 8, 12),), None))
    made("audio_rnnt_joiner", lambda: (Part(Joiner(), torch.sigmoid), (noise(1, 5, 8), noise(1, 3, 8)),
                                       None))
    from torchaudio import transforms
    made("audio_mel", lambda: (transforms.MelSpectrogram(n_fft=64, n_mels=8), (noise(1, 640),), None))
    made("audio_mel_log", lambda: (nn.Sequential(transforms.MelSpectrogram(
        n_fft=64, hop_length=16, n_mels=8, center=False), transforms.AmplitudeToDB()),
        (noise(1, 640),), None))
    made("audio_mfcc", lambda: (transforms.MFCC(n_mfcc=6, melkwargs=dict(n_fft=64, n_mels=8)),
                                (noise(1, 640),), None))
    made("audio_resample", lambda: (transforms.Resample(16000, 12000), (noise(1, 640),), None))


class Joiner(nn.Module):
    def __init__(self):
        super().__init__()
        self.sounds, self.words, self.out = nn.Linear(8, 6), nn.Linear(8, 6), nn.Linear(6, 4)

    def forward(self, sounds, words):
        both = self.sounds(sounds).unsqueeze(2) + self.words(words).unsqueeze(1)
        return self.out(F.relu(both)).log_softmax(-1)


def text():
    import transformers as tr
    tokens = whole(1, 7, high=50)
    size = dict(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                intermediate_size=32)

    def encoder(name, config, model, pick=lambda r: r.last_hidden_state, inputs=(tokens,), axes=None,
                **options):
        made(f"text_{name}", lambda: (Part(getattr(tr, model)(getattr(tr, config)(**options)).eval(),
                                           pick), inputs, axes))

    full = (tokens, torch.ones(1, 7, dtype=torch.int64))
    encoder("albert", "AlbertConfig", "AlbertModel", inputs=full, embedding_size=8, **size)
    encoder("bert", "BertConfig", "BertModel", inputs=full, **size)
    encoder("roberta", "RobertaConfig", "RobertaModel", **size)
    encoder("distilbert", "DistilBertConfig", "DistilBertModel", vocab_size=50, dim=16, n_layers=2,
            n_heads=2, hidden_dim=32)
    encoder("electra", "ElectraConfig", "ElectraModel", embedding_size=8, **size)
    encoder("modernbert", "ModernBertConfig", "ModernBertModel", pad_token_id=0, **size)
    encoder("deberta", "DebertaV2Config", "DebertaV2Model", **size)
    encoder("t5_encoder", "T5Config", "T5EncoderModel", vocab_size=50, d_model=16, d_kv=8, d_ff=32,
            num_layers=2, num_heads=2)
    encoder("clip_text", "CLIPTextConfig", "CLIPTextModel", **size)
    encoder("clip_vision", "CLIPVisionConfig", "CLIPVisionModel", inputs=(noise(1, 3, 32, 32),),
            image_size=32, patch_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=32)
    vit = dict(image_size=32, patch_size=8, hidden_size=16, num_hidden_layers=2,
               num_attention_heads=2, intermediate_size=32)
    encoder("vit", "ViTConfig", "ViTModel", inputs=(noise(1, 3, 32, 32),), **vit)
    encoder("siglip", "SiglipVisionConfig", "SiglipVisionModel", inputs=(noise(1, 3, 32, 32),), **vit)
    encoder("hubert", "HubertConfig", "HubertModel", inputs=(noise(1, 800),), **{
        **size, "conv_dim": (8, 8), "conv_stride": (5, 2), "conv_kernel": (10, 3),
        "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8,
        "num_conv_pos_embedding_groups": 2})
    encoder("wav2vec2_bert", "Wav2Vec2BertConfig", "Wav2Vec2BertModel", inputs=(noise(1, 12, 8),),
            feature_projection_input_dim=8, conv_depthwise_kernel_size=5, **size)
    made("text_whisper_encoder", lambda: (Part(tr.WhisperModel(tr.WhisperConfig(
        vocab_size=50, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8,
        max_source_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1)).eval().encoder, lambda r: r.last_hidden_state),
        (noise(1, 8, 40),), None))
    made("text_encodec_decoder", lambda: (tr.EncodecModel(tr.EncodecConfig(
        hidden_size=8, num_filters=4, upsampling_ratios=[4, 2], codebook_dim=8, codebook_size=16,
        num_lstm_layers=1)).eval().decoder, (noise(1, 8, 10),), None))
    made("text_hifigan", lambda: (tr.SpeechT5HifiGan(tr.SpeechT5HifiGanConfig(
        model_in_dim=8, upsample_initial_channel=16, upsample_rates=[4, 2],
        upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3, 5],
        resblock_dilation_sizes=[[1, 3], [1, 3]])).eval(), (noise(12, 8),), None))
    logits = lambda r: r.logits  # noqa: E731
    encoder("opt", "OPTConfig", "OPTForCausalLM", logits, vocab_size=50, hidden_size=16, ffn_dim=32,
            num_hidden_layers=2, num_attention_heads=2, word_embed_proj_dim=16, use_cache=False)


class ResidualBlock(nn.Module):
    """The blocks of HiFi-GAN."""

    def __init__(self, channels, kernel, dilations):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.wide = nn.ModuleList(norm(nn.Conv1d(
            channels, channels, kernel, dilation=d, padding=d * (kernel - 1) // 2)) for d in dilations)
        self.plain = nn.ModuleList(norm(nn.Conv1d(
            channels, channels, kernel, padding=(kernel - 1) // 2)) for _ in dilations)

    def forward(self, x):
        for wide, plain in zip(self.wide, self.plain):
            x = x + plain(F.leaky_relu(wide(F.leaky_relu(x, 0.1)), 0.1))
        return x


class HifiGan(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(8, 16, 7, padding=3)
        self.up = nn.ModuleList([nn.ConvTranspose1d(16, 8, 8, 4, padding=2),
                                 nn.ConvTranspose1d(8, 4, 4, 2, padding=1)])
        self.blocks = nn.ModuleList([nn.ModuleList([ResidualBlock(c, k, (1, 3)) for k in (3, 5)])
                                     for c in (8, 4)])
        self.last = nn.Conv1d(4, 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, blocks in zip(self.up, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.last(F.leaky_relu(x)))


class DeepFilter(nn.Module):
    """The stages of DeepFilterNet: bands, gains of bands, and complex filters over frames."""

    def __init__(self, bins=9, bands=4, order=3):
        super().__init__()
        self.order = order
        self.register_buffer("to_bands", torch.rand(bins, bands))
        self.register_buffer("from_bands", torch.rand(bands, bins))
        self.pad = nn.ConstantPad2d((0, 0, 2, 0), 0.0)
        self.conv0 = nn.Conv2d(1, 6, 3, padding=(0, 1), bias=False)
        self.norm0 = nn.BatchNorm2d(6)
        self.conv1 = nn.Sequential(nn.Conv2d(6, 6, (1, 3), stride=(1, 2), padding=(0, 1), groups=6),
                                   nn.Conv2d(6, 6, 1), nn.BatchNorm2d(6), nn.ReLU())
        self.gru = nn.GRU(6 * (bands // 2), 8, batch_first=True)
        self.up = nn.ConvTranspose2d(6, 6, (1, 4), stride=(1, 2), padding=(0, 1), groups=6)
        self.gains = nn.Linear(8, 6 * (bands // 2))
        self.mask = nn.Conv2d(6, 1, 1)
        self.taps = nn.Linear(8, bins * order * 2)

    def forward(self, spec):
        power = spec.square().sum(-1)
        bands = torch.log10(power @ self.to_bands + 1e-6)
        c0 = F.relu(self.norm0(self.conv0(self.pad(bands.unsqueeze(1)))))
        c1 = self.conv1(c0)
        hidden, _ = self.gru(c1.permute(0, 2, 1, 3).flatten(2))
        inner = self.gains(hidden).unflatten(2, (6, -1)).permute(0, 2, 1, 3)
        gains = torch.sigmoid(self.mask(self.up(inner + c1) + c0)).squeeze(1) @ self.from_bands
        spec = spec * gains.unsqueeze(-1)
        taps = self.taps(hidden).unflatten(2, (-1, self.order, 2))
        past = F.pad(spec, (0, 0, 0, 0, self.order - 1, 0)).unfold(1, self.order, 1).transpose(3, 4)
        real = (past[..., 0] * taps[..., 0] - past[..., 1] * taps[..., 1]).sum(-1)
        imaginary = (past[..., 0] * taps[..., 1] + past[..., 1] * taps[..., 0]).sum(-1)
        return torch.stack([real, imaginary], -1)


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.down, self.up = nn.Conv1d(8, 8, 3, padding=1), nn.Linear(8, 2), nn.Linear(2, 8)

    def forward(self, x):
        y = self.conv(x)
        return x + y * torch.sigmoid(self.up(F.relu(self.down(y.mean(-1))))).unsqueeze(-1)


class VaeMiddle(nn.Module):
    """Attention over the positions of an image, between group norms, as in image decoders."""

    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(4, 8)
        self.q, self.k, self.v, self.out = (nn.Linear(8, 8) for _ in range(4))
        self.conv = nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x):
        b, _, h, w = x.shape
        places = self.norm(x).permute(0, 2, 3, 1).reshape(b, h * w, 8)
        scores = self.q(places) @ self.k(places).transpose(-1, -2) * 8 ** -0.5
        y = self.out(scores.softmax(-1) @ self.v(places)).reshape(b, h, w, 8).permute(0, 3, 1, 2)
        return self.conv(F.interpolate(x + y, scale_factor=2, mode="nearest"))


def blocks():
    made("block_hifigan", lambda: (HifiGan().eval(), (noise(1, 8, 12),), None))
    made("block_hifigan_open", lambda: (HifiGan().eval(), (noise(1, 8, 12),), {2: "S"}))
    made("block_deep_filter", lambda: (settled(DeepFilter()), (noise(1, 10, 9, 2),), None))
    made("block_squeeze_excite", lambda: (SqueezeExcite().eval(), (noise(1, 8, 12),), {2: "S"}))
    made("block_vae_middle", lambda: (VaeMiddle().eval(), (noise(1, 8, 4, 4),), None))


for group in (vision, audio, text, blocks):
    try:
        group()
    except ImportError as error:
        LEFT_OUT.append(f"{group.__name__} ({error})")
