"""Chat templates by name, for models that bring none along (``--chat-template NAME``).

Written from the formats that the models' authors publish. Where a format has no system role, system
text goes in front of the first user turn.
"""

from __future__ import annotations

CHATML = """\
{% for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

LLAMA2 = """\
{% set state = namespace(system='') %}
{% for message in messages %}
{% if message.role == 'system' %}
{% set state.system = '<<SYS>>\\n' + message.content + '\\n<</SYS>>\\n\\n' %}
{% elif message.role == 'user' %}
{{- bos_token + '[INST] ' + state.system + message.content + ' [/INST]' }}
{%- set state.system = '' %}
{% elif message.role == 'assistant' %}
{{- ' ' + message.content + ' ' + eos_token }}
{%- else %}
{{- raise_exception('the llama2 format has no role ' + message.role) }}
{%- endif %}
{% endfor %}
"""

LLAMA3 = """\
{{- bos_token }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}
{{- message.content | trim }}{{ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

_MISTRAL = """\
{{- bos_token }}
{%- set state = namespace(system='') %}
{% for message in messages %}
{% if message.role == 'system' %}
{% set state.system = message.content + '\\n\\n' %}
{% elif message.role == 'user' %}
{{- 'OPEN' + state.system + message.content + 'CLOSE' }}
{%- set state.system = '' %}
{% elif message.role == 'assistant' %}
{{- ' ' + message.content + eos_token }}
{%- else %}
{{- raise_exception('this format has no role ' + message.role) }}
{%- endif %}
{% endfor %}
"""

MISTRAL_V1 = _MISTRAL.replace("OPEN", "[INST] ").replace("CLOSE", " [/INST]")
MISTRAL_V3 = _MISTRAL.replace("OPEN", "[INST] ").replace("CLOSE", "[/INST]")

MISTRAL_V7 = """\
{{- bos_token }}
{%- for message in messages %}
{% if message.role == 'system' %}
{{- '[SYSTEM_PROMPT] ' + message.content + '[/SYSTEM_PROMPT]' }}
{%- elif message.role == 'user' %}
{{- '[INST] ' + message.content + '[/INST]' }}
{%- elif message.role == 'assistant' %}
{{- ' ' + message.content + eos_token }}
{%- else %}
{{- raise_exception('the mistral-v7 format has no role ' + message.role) }}
{%- endif %}
{% endfor %}
"""

GEMMA = """\
{{- bos_token }}
{%- set state = namespace(system='') %}
{% for message in messages %}
{% if message.role in ('system', 'developer') %}
{% set state.system = message.content | trim + '\\n\\n' %}
{% else %}
{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' }}
{{- state.system + message.content | trim + '<end_of_turn>\\n' }}
{%- set state.system = '' %}
{% endif %}
{% endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""

PHI3 = """\
{% for message in messages %}
{{- '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}
"""

PHI4 = """\
{% for message in messages %}
{{- '<|im_start|>' + message.role + '<|im_sep|>' + message.content + '<|im_end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}
"""

ZEPHYR = """\
{% for message in messages %}
{{- '<|' + message.role + '|>\\n' + message.content + eos_token + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}
"""

VICUNA = """\
{% for message in messages %}
{% if message.role == 'system' %}
{{- message.content + ' ' }}
{%- elif message.role == 'user' %}
{{- 'USER: ' + message.content + ' ' }}
{%- elif message.role == 'assistant' %}
{{- 'ASSISTANT: ' + message.content + eos_token }}
{%- else %}
{{- raise_exception('the vicuna format has no role ' + message.role) }}
{%- endif %}
{% endfor %}
{%- if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}
"""

DEEPSEEK3 = """\
{{- bos_token }}
{%- for message in messages %}
{% if message.role == 'system' %}
{{- message.content }}
{%- elif message.role == 'user' %}
{{- '<｜User｜>' + message.content }}
{%- elif message.role == 'assistant' %}
{{- '<｜Assistant｜>' + message.content + eos_token }}
{%- else %}
{{- raise_exception('the deepseek3 format has no role ' + message.role) }}
{%- endif %}
{% endfor %}
{%- if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %}
"""

NAMED_TEMPLATES: dict[str, str] = {
    "chatml": CHATML,
    "deepseek3": DEEPSEEK3,
    "gemma": GEMMA,
    "llama2": LLAMA2,
    "llama3": LLAMA3,
    "mistral-v1": MISTRAL_V1,
    "mistral-v3": MISTRAL_V3,
    "mistral-v7": MISTRAL_V7,
    "phi3": PHI3,
    "phi4": PHI4,
    "vicuna": VICUNA,
    "zephyr": ZEPHYR,
}
