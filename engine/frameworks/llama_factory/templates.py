"""Chat templates that LLaMA-Factory 0.9.5 has, by the names in its `data/template.py`.

It refuses an unknown one when it has loaded the model. Those of Baichuan2 and others were taken out in this release.
"""

_BY_TOKEN = {
    "": (
        "alpaca breeze cohere deepseek deepseek3 deepseekcoder deepseekr1 default empty exaone falcon fewshot "
        "gpt_oss granite3 granite3_vision index llama2 llama2_zh llava llava_next llava_next_mistral "
        "llava_next_video llava_next_video_mistral ministral ministral3 mistral mistral_small olmo openchat "
        "paligemma pixtral seed_coder seed_oss solar telechat2 vicuna video_llava xuanyuan zephyr"
    ),
    "###": "yi_vl",
    "<end_of_sentence>": "minimax1",
    "<end_of_turn>": "gemma gemma3 gemma3n paligemma_chat",
    "<eod>": "yuan",
    "<eos>": "gemma2",
    "<turn|>": "gemma4 gemma4n",
    "<|end_of_sentence|>": "ernie_nothink ernie_vl",
    "<|end_of_text|>": "granite4 youtu youtu_vl",
    "<|endofassistant|>": "dots_ocr",
    "<|endoftext|>": "bailing bailing_v2",
    "<|end|>": "phi phi4_mini phi_small starchat",
    "<|eos|>": "hunyuan",
    "<|eot_id|>": "llama3 llava_next_llama3 mllama openchat-3.6",
    "<|eot|>": "llama4",
    "<|im_end|>": (
        "chatml chatml_de cpm4 dbrx ernie falcon_h1 intern2 intern_s1 intern_vl keye_vl kimi_vl lfm2 lfm2_vl "
        "llava_next_qwen llava_next_video_yi llava_next_yi mimo mimo_v2 mimo_vl minicpm_o minicpm_v "
        "minicpm_v_4_6 moonlight opencoder phi4 qwen qwen2_audio qwen2_omni qwen2_vl qwen3 qwen3_5 "
        "qwen3_5_nothink qwen3_6 qwen3_nothink qwen3_omni qwen3_omni_nothink qwen3_vl qwen3_vl_nothink sailor "
        "smollm smollm2 yi"
    ),
    "<|user|>": "aeva chatglm3 glm4 glm4_5v glm4_7 glm4_moe glm4v glm_ocr glmz1",
    "<｜hy_eos｜>": "hy3",
    "<｜hy_place▁holder▁no▁2｜>": "hunyuan_small",
    "[e~[": "minimax2",
}
TEMPLATES = {name: token for token, names in _BY_TOKEN.items() for name in names.split()}
"""Name → the first of its stop words, with which an answer ends; empty where the tokenizer's own end token does."""
_SHARED_END = (
    "aeva bailing bailing_v2 breeze chatglm3 dots_ocr falcon fewshot gemma2 glm4 glm4_5v glm4_7 glm4_moe glm4v glm_ocr "
    "glmz1 gpt_oss index solar yi_vl"
)
SHARED_END = frozenset(_SHARED_END.split(" "))
"""Those in which the token of the next speaker ends an answer (`efficient_eos`)."""
OF_FAMILY = {"llama3": "llama3", "yi": "yi", "chatml": "chatml", "deepseek3": "deepseek3"}
"""Families of ours (`engine/families/`) → its template with the very same text, with a system text and without.

Compared as text with release 0.9.5, two turns. Of the others, qwen has another system text of its own, mistral, llama2
and chatglm3 other blanks, glm4 one more end token, and baichuan2 is gone.
"""
