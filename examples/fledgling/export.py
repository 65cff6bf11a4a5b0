"""Writes a trained model in the released checkpoint layout.

Layer l goes to shard l+1, everything global to the last shard.  The trunk is
rounded to BF16 (nearest even), experts are packed to MXFP4 from the float
masters, and the few F32 tensors stay F32.

    python3 export.py checkpoint.pt out-directory
"""

import json
import os
import struct
import sys
from typing import Dict, List, Tuple

import torch

import mxfp4
from bpe import Tokenizer
from model import RMS_EPS, Config

PREFIX = "language_model."
F32_SUFFIXES = ("conv1d.weight", "A_log", "dt_bias", "o_norm.weight", "e_score_correction_bias")
Stored = Tuple[str, List[int], bytes]  # dtype, shape, data


def raw_bytes(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().view(-1).numpy().tobytes()


def stored_plain(name: str, value: torch.Tensor) -> Stored:
    if name.endswith(F32_SUFFIXES):
        return "F32", list(value.shape), raw_bytes(value.float())
    return "BF16", list(value.shape), raw_bytes(value.to(torch.bfloat16).view(torch.int16))


def stored_experts(base: str, stacks: Dict[str, torch.Tensor]) -> Dict[str, Stored]:
    """The six tensors of each expert, contiguous, in the order w1 w2 w3."""
    stored = {}
    for expert in range(len(stacks["w1"])):
        for part in ("w1", "w2", "w3"):
            packed, scale = mxfp4.pack(stacks[part][expert])
            name = f"{base}{expert}.{part}."
            stored[name + "weight_packed"] = "U8", list(packed.shape), raw_bytes(packed)
            stored[name + "weight_scale"] = "U8", list(scale.shape), raw_bytes(scale)
    return stored


def stored_tensors(parameters: Dict[str, torch.Tensor], config: Config) -> Dict[str, Stored]:
    plain, stacks = {}, {}
    for name, value in parameters.items():
        value = value.detach()
        base, _, part = name.rpartition("experts.")
        if part in ("w1", "w2", "w3"):
            stacks.setdefault(f"{PREFIX}{base}experts.", {})[part] = value
            continue
        if name.endswith("A_log"):
            value = torch.cat([value, torch.zeros(config.a_log_entries - len(value))])
        plain[PREFIX + name] = stored_plain(name, value)
    for base, stack in stacks.items():
        plain.update(stored_experts(base, stack))
    return plain


def shard_of(name: str, n_layers: int) -> int:
    parts = name.split(".")
    return int(parts[3]) if parts[2] == "layers" else n_layers


def write_safetensors(path: str, tensors: Dict[str, Stored]) -> None:
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        end = offset + len(data)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def write_json(path: str, value) -> None:
    with open(path, "w", encoding="ascii") as file:
        json.dump(value, file, indent=2)
        file.write("\n")


def linear_attention_config(c: Config) -> dict:
    layers = range(c.n_layers)
    return {
        "head_dim": c.kda_dim, "num_heads": c.n_heads, "short_conv_kernel_size": c.conv,
        "gate_lower_bound": c.gate_lower_bound, "use_full_rank_gate": True,
        "full_attn_layers": [layer + 1 for layer in layers if c.is_mla(layer)],
        "kda_layers": [layer + 1 for layer in layers if not c.is_mla(layer)],
    }


QUANTISATION = {
    "quant_method": "compressed-tensors",
    "format": "mxfp4-pack-quantized",
    "quantization_status": "compressed",
    "config_groups": {"group_0": {
        "format": "mxfp4-pack-quantized", "targets": ["Linear"],
        "input_activations": None, "output_activations": None,
        "weights": {"num_bits": 4, "type": "float", "group_size": mxfp4.GROUP,
                    "strategy": "group", "symmetric": True, "dynamic": False,
                    "observer": "minmax", "scale_dtype": "torch.uint8"}}},
    "ignore": ["re:.*self_attn.*", "re:.*shared_experts.*",
               "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*",
               "re:.*vision_tower.*", "re:.*mm_projector.*"],
}


def text_config(c: Config, special_ids: Dict[str, int]) -> dict:
    return {
        "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear",
        "dtype": "bfloat16", "tie_word_embeddings": False,
        "bos_token_id": special_ids["[BOS]"], "eos_token_id": special_ids["<|end_of_msg|>"],
        "pad_token_id": special_ids["[PAD]"],
        "vocab_size": c.vocab, "hidden_size": c.hidden, "num_hidden_layers": c.n_layers,
        "intermediate_size": c.dense_width, "num_attention_heads": c.n_heads,
        "num_key_value_heads": c.n_heads, "max_position_embeddings": 1048576,
        "hidden_act": "situ", "activation_situ_beta": c.situ_gate_cap,
        "activation_situ_linear_beta": c.situ_up_cap, "rms_norm_eps": RMS_EPS,
        "attn_res_block_size": c.res_block, "first_k_dense_replace": 1, "moe_layer_freq": 1,
        "moe_intermediate_size": c.moe_width, "num_experts": c.n_experts,
        "num_experts_per_token": c.top_k, "num_shared_experts": c.n_shared,
        "num_expert_group": 1, "topk_group": 1, "use_grouped_topk": True,
        "topk_method": "noaux_tc", "moe_renormalize": True,
        "moe_router_activation_func": "sigmoid", "routed_scaling_factor": 1.0,
        "routed_expert_hidden_size": c.latent, "latent_moe_use_norm": True,
        "q_lora_rank": c.q_rank, "kv_lora_rank": c.kv_rank, "qk_nope_head_dim": c.nope,
        "qk_rope_head_dim": c.rope, "v_head_dim": c.v_dim, "mla_use_nope": True,
        "mla_use_output_gate": True, "num_nextn_predict_layers": 0,
        "initializer_range": 0.02, "use_cache": True,
        "linear_attn_config": linear_attention_config(c),
        "quantization_config": QUANTISATION,
    }


def config_json(c: Config, special_ids: Dict[str, int]) -> dict:
    return {
        "architectures": ["KimiK3ForConditionalGeneration"], "model_type": "kimi_k3",
        "dtype": "bfloat16", "tie_word_embeddings": False, "ignore_index": -100,
        "bos_token_id": special_ids["[BOS]"], "eos_token_id": special_ids["<|end_of_msg|>"],
        "pad_token_id": special_ids["[PAD]"],
        "media_placeholder_token_id": special_ids["<|media_pad|>"],
        "text_config": text_config(c, special_ids),
    }


def export(parameters: Dict[str, torch.Tensor], config: Config, tokenizer: Tokenizer,
           directory: str) -> None:
    os.makedirs(directory, exist_ok=True)
    n_shards = config.n_layers + 1
    shards: List[Dict[str, Stored]] = [{} for _ in range(n_shards)]
    for name, stored in stored_tensors(parameters, config).items():
        shards[shard_of(name, config.n_layers)][name] = stored
    weight_map, total_size = {}, 0
    for index, tensors in enumerate(shards):
        file_name = f"model-{index + 1:05d}-of-{n_shards:06d}.safetensors"
        write_safetensors(os.path.join(directory, file_name), tensors)
        weight_map.update({name: file_name for name in tensors})
        total_size += sum(len(data) for _, _, data in tensors.values())
    write_json(os.path.join(directory, "model.safetensors.index.json"),
               {"metadata": {"total_size": total_size}, "weight_map": weight_map})
    write_json(os.path.join(directory, "config.json"), config_json(config, tokenizer.special_ids))
    write_json(os.path.join(directory, "generation_config.json"), {
        "bos_token_id": tokenizer.special_ids["[BOS]"],
        "eos_token_id": [tokenizer.special_ids["<|end_of_msg|>"], tokenizer.special_ids["[EOS]"]],
        "pad_token_id": tokenizer.special_ids["[PAD]"], "max_length": 1048576})
    tokenizer.save(os.path.join(directory, "tiktoken.model"))
    tokenizer.save_config(os.path.join(directory, "tokenizer_config.json"))


def main() -> None:
    checkpoint, directory = sys.argv[1:]
    saved = torch.load(checkpoint)
    export(saved["parameters"], Config(), Tokenizer(saved["tokens"]), directory)


if __name__ == "__main__":
    main()
