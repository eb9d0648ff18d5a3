#!/usr/bin/env python3
"""Export small language models with torch_to_nnef_llm, which checks each export with rill-tract.

usage: language_models.py RILL_TRACT [--tract PROGRAM] [--keep FOLDER] [NAME ...]

Models of transformers with random weights and a tokenizer of single letters are exported with their caches as
inputs and outputs. Then rill-tract runs the bundles that the exporter writes for prompts, prompts with a
past, and single tokens. With --tract, tract repeats each case that fails in rill-tract; a failure counts only
if tract succeeds. With --keep, archives and bundles remain in that folder. Exit status 77 if a package is not
installed.
"""

import contextlib
import io
import logging
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    torch.version.cuda = None  # with a torchaudio for another CUDA, transformers would not load
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers
    from torch_to_nnef.inference_target.tract import TractCheckTolerance
    from torch_to_nnef_llm.exporter import dump_llm
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SIZE = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, vocab_size=64, bos_token_id=1,
            eos_token_id=2, pad_token_id=0)
HEAD = dict(head_dim=16)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32)
SUPER = {"tract_check_io_tolerance": TractCheckTolerance.SUPER}
HALF = {"force_module_dtype": "f16", **SUPER}
# name: kind of model, further configuration, options of the export
MODELS = {
    "llama": ("Llama", {}, {}),
    "llama_tied": ("Llama", {"tie_word_embeddings": True}, {}),
    "llama_q4": ("Llama", {}, {"compression_method": "min_max_q4_0_all", **SUPER}),
    "llama_q4_with_embeddings": ("Llama", {}, {"compression_method": "min_max_q4_0_with_embeddings",
                                               **SUPER}),
    "llama_half": ("Llama", {}, HALF),
    "llama_half_f32_attention": ("Llama", {}, {**HALF, "force_f32_attention": True}),
    "llama_half_f32_sums": ("Llama", {}, {**HALF, "force_f32_linear_accumulator": True}),
    "llama_half_f32_norms": ("Llama", {}, {**HALF, "force_f32_normalization": True}),
    "llama_half_q4": ("Llama", {}, {**HALF, "compression_method": "min_max_q4_0_all"}),
    "llama_reified": ("Llama", {}, {"reify_sdpa_operator": True, "attn_implementation": "sdpa"}),
    "llama_not_reified": ("Llama", {}, {"reify_sdpa_operator": False}),
    "llama_all_logits": ("Llama", {}, {"num_logits_to_keep": 0}),
    "llama_asked_logits": ("Llama", {}, {"num_logits_to_keep": "dynamic"}),
    "qwen2": ("Qwen2", {}, {}),
    "qwen2_half": ("Qwen2", {}, HALF),
    "qwen3": ("Qwen3", HEAD, {}),
    "mistral": ("Mistral", {**HEAD, "sliding_window": None}, {}),
    "mistral_sliding": ("Mistral", {**HEAD, "sliding_window": 4}, {}),
    "phi3": ("Phi3", {"original_max_position_embeddings": 128}, {}),
    "gemma": ("Gemma", HEAD, {}),
    "gemma2": ("Gemma2", {**HEAD, "sliding_window": 8}, {}),
    "gemma3": ("Gemma3Text", {**HEAD, "sliding_window": 8}, {}),
    "olmo": ("Olmo", {}, {}),
    "granite": ("Granite", {}, {}),
    "stablelm": ("StableLm", {}, {}),
    "smollm3": ("SmolLM3", {}, {}),
    "gpt2": ("GPT2", {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_inner": 96}, {}),
    "gpt_neox": ("GPTNeoX", {}, {}),
    "phi": ("Phi", {}, {}),
    "cohere": ("Cohere", {}, {}),
    "qwen3_experts": ("Qwen3Moe", {**HEAD, **EXPERTS}, {}),
    "qwen3_experts_q4": ("Qwen3Moe", {**HEAD, **EXPERTS}, {"quantize_moe_experts": "q40", **SUPER}),
    "mixtral": ("Mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}, {}),
    "qwen3_next": ("Qwen3Next", {**HEAD, **EXPERTS, "linear_num_key_heads": 2,
                                 "linear_num_value_heads": 2, "linear_key_head_dim": 16,
                                 "linear_value_head_dim": 16,
                                 "layer_types": ["linear_attention", "full_attention"]}, {}),
}
MODES = ("prompt", "prompt_with_past", "text_generation")


def save_tokenizer(folder):
    letters = ["<pad>", "<s>", "</s>", "<unk>"] + [chr(code) for code in range(65, 125)]
    tokenizer = Tokenizer(models.WordLevel({t: i for i, t in enumerate(letters)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        unk_token="<unk>").save_pretrained(folder)


def save_model(kind, more, folder):
    torch.manual_seed(0)
    config_kind = "Gemma3TextConfig" if kind == "Gemma3Text" else f"{kind}Config"
    model_kind = {"Gemma3Text": "Gemma3ForCausalLM", "GPT2": "GPT2LMHeadModel"}.get(
        kind, f"{kind}ForCausalLM")
    config = getattr(transformers, config_kind)(**{**SIZE, **more})
    model = getattr(transformers, model_kind)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.15)
    model.save_pretrained(folder)
    save_tokenizer(folder)


def run(program, archive, tests):
    for mode in MODES:
        given, expected = tests / f"{mode}_inputs.npz", tests / f"{mode}_outputs.npz"
        if not expected.exists():
            continue
        done = subprocess.run(
            [program, archive, "--nnef-tract-core", "--nnef-tract-transformers", "-O", "run",
             "--input-from-bundle", given, "--assert-output-bundle", expected, "--allow-float-casts",
             "--approx", "super"],
            capture_output=True, text=True, check=False)
        if done.returncode or "ERROR" in done.stderr:
            return f"{mode}: {done.stderr.strip()}"
    return ""


def outcome(program, name, folder):
    kind, more, options = MODELS[name]
    save_model(kind, more, folder / "model")
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            dump_llm(local_dir=folder / "model", export_dirpath=folder / "export",
                     tract_specific_path=pathlib.Path(program), log_level=logging.CRITICAL, **options)
    except BaseException as error:  # the exporter raises many types, including SystemExit
        return f"{type(error).__name__}: {error}"
    archive = next((folder / "export").glob("**/*.nnef.tgz"))
    return run(program, archive, next((folder / "export").glob("**/prompt_inputs.npz")).parent)


def main():
    arguments = sys.argv[1:]
    values = {}
    for flag in ("--tract", "--keep"):
        if flag in arguments:
            at = arguments.index(flag)
            values[flag] = arguments[at + 1]
            del arguments[at:at + 2]
    program, names = arguments[0], arguments[1:] or list(MODELS)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    passed, failed, not_exported = 0, [], []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            error = outcome(program, name, pathlib.Path(folder))
            if not error and "--keep" in values:
                shutil.copytree(pathlib.Path(folder) / "export", pathlib.Path(values["--keep"]) / name)
        if not error:
            passed += 1
            continue
        other = ""
        if "--tract" in values:
            with tempfile.TemporaryDirectory() as folder:
                other = outcome(values["--tract"], name, pathlib.Path(folder))
        if other:
            not_exported.append(f"{name} ({' '.join(other.split())[:200]})")
            continue
        failed.append(name)
        print(f"{name}: {error[-1500:]}\n", flush=True)
    print(f"{passed} passed, {len(failed)} failed: {' '.join(failed)}")
    print("not exported, or failed by tract as well:", *not_exported, sep="\n  ")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
