"""A decoder like the LLaMA models with random 4-bit weights as a GGUF file, and a step of it by llama.cpp.

Weights are in the format Q4_0: groups of 32 codes with a scale of 16 bits, as in our ONNX files. The packages
``gguf`` and ``llama-cpp-python`` are required.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GROUP, BLOCK_BYTES = 32, 18
"""The elements and the bytes of a group in Q4_0: a float16 and 32 nibbles."""


def write(config: Any, path: Path) -> None:
    """Write a model with the sizes ``config`` (of tutorial 17) to the file ``path``."""
    import gguf

    random = np.random.default_rng(0)
    file = gguf.GGUFWriter(str(path), "llama")
    file.add_context_length(config.length)
    file.add_embedding_length(config.hidden)
    file.add_block_count(config.layers)
    file.add_feed_forward_length(config.inner)
    file.add_head_count(config.heads)
    file.add_head_count_kv(config.groups)
    file.add_rope_dimension_count(config.size)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_vocab_size(config.vocabulary)
    file.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    file.add_tokenizer_model("llama")
    words = ["<unk>", "<s>", "</s>", *(f"word{n}" for n in range(3, config.vocabulary))]
    file.add_token_list(words)
    file.add_token_scores([0.0] * len(words))
    file.add_token_types([2, 3, 3, *[1] * (len(words) - 3)])

    def weight(name: str, columns: int, terms: int) -> None:
        blocks = random.integers(0, 256, (columns, terms // GROUP, BLOCK_BYTES), np.uint8)
        scales = (random.random((columns, terms // GROUP)) + 0.5) * terms**-0.5 / 8
        blocks[..., :2] = scales.astype(np.float16)[..., None].view(np.uint8)
        packed = blocks.reshape(columns, -1)
        file.add_tensor(f"{name}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q4_0)

    weight("token_embd", config.vocabulary, config.hidden)
    weight("output", config.vocabulary, config.hidden)
    names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    ones = np.ones(config.hidden, np.float32)
    file.add_tensor("output_norm.weight", ones)
    for layer in range(config.layers):
        for name, (columns, terms) in zip(names, config.weights(), strict=True):
            weight(f"blk.{layer}.{name}", columns, terms)
        for name in ("attn_norm", "ffn_norm"):
            file.add_tensor(f"blk.{layer}.{name}.weight", ones)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def step(path: Path, past: int, tokens: int, threads: int) -> Callable[[Any], np.ndarray]:
    """A function that processes ``tokens`` tokens after ``past`` others, and returns the last one's
    scores."""
    import llama_cpp

    model = llama_cpp.Llama(
        str(path), n_ctx=past + tokens + 16, n_threads=threads, n_threads_batch=threads, verbose=False
    )
    model.eval([3] * past)

    def run(given: Any) -> np.ndarray:
        model.n_tokens = past  # discards later tokens
        model.eval([5] * tokens)
        return model.scores[-1]

    return run
