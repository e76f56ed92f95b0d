"""What chat_templates.json was made from: templates that use all that templates may use."""

BOS = "<s>"
EOS = "</s>"

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": 'Says <how> it\'s "outside" & é',
            "parameters": {
                "type": "object",
                "properties": {"town": {"type": "string", "enum": ["Ulm", "Köln"]}},
                "required": ["town"],
            },
        },
    }
]

CONVERSATIONS = {
    "one turn": [{"role": "user", "content": "Hello!"}],
    "with system": [
        {"role": "system", "content": "  Be brief.\n"},
        {"role": "user", "content": " What is 6 × 7? "},
    ],
    "many turns": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "<think>\nGreet.\n</think>\n\nHello, you.\n"},
        {"role": "user", "content": "Say <b>\"so\"</b> & 'thus'"},
        {"role": "assistant", "content": "so & thus"},
        {"role": "user", "content": "👋\tbye\n\n"},
    ],
    "tool call": [
        {"role": "system", "content": "Use tools."},
        {"role": "user", "content": "Weather in Ulm?"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "Look it up.",
            "tool_calls": [
                {
                    "type": "function",
                    "function": {"name": "weather", "arguments": {"town": "Ulm", "days": 2}},
                }
            ],
        },
        {"role": "tool", "content": '{"sky": "grey", "t": [1, 2.5, null, true]}'},
        {"role": "tool", "content": "second"},
    ],
    "wrong order": [{"role": "assistant", "content": "I begin."}],
}

_THINKING = r"""
{%- set ns = namespace(last=0, seen=[]) %}
{%- for message in messages[::-1] %}
    {%- if message.role == "user" %}
        {%- set ns.last = messages | length - 1 - loop.index0 %}
        {%- break %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
{{- '<|' ~ message['role'] ~ '|>' ~ (loop.index0 > ns.last) ~ '\n' }}
    {%- if message.reasoning_content is defined and message.reasoning_content is not none %}
{{- '<think>' + message.reasoning_content.strip('\n') + '</think>' }}
    {%- endif %}
    {%- generation %}
{{- content }}
    {%- endgeneration %}
{{- eos_token }}
{% endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{ 'fast' }}{% endif %}
{%- endif %}
"""

_TOOLS = r"""
{%- macro show(call) %}
{{- call.name }}({% for key, value in call.arguments | items %}{{ key }}={{ value | tojson }}
{%- if not loop.last %}, {% endif %}{% endfor %})
{%- endmacro %}
{{- bos_token }}
{%- if tools %}
{{- "Tools:\n" }}
{%- for tool in tools %}
{{- tool | tojson }}
{{ tool | tojson(indent=4) }}
{{ tool.function | tojson(ensure_ascii=true, sort_keys=true, separators=(',', ':')) }}
{% endfor %}
{%- endif %}
{%- for message in messages if message.role != 'system' %}
{%- if message.role == 'tool' %}
    {%- if loop.previtem is defined and loop.previtem.role != 'tool' %}{{ '<answers>' }}{% endif %}
    {{- message.content | trim | replace('"', "'") }}
    {%- continue %}
{%- endif %}
{%- if message.tool_calls is defined and message.tool_calls is iterable %}
    {%- for call in message.tool_calls %}
        {%- set call = call.function if call.function is mapping else call %}
{{ show(call) }}
    {%- endfor %}
{%- else %}
{{- message.role | capitalize }}: {{ message.content }}
{% endif %}
{%- endfor %}
{{- messages | map(attribute='role') | join(',') }}
{%- for message in messages | selectattr('role', 'equalto', 'user') %}
{{- loop.cycle('a', 'b') }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "\nAssistant:" }}{% endif %}
"""

_STRICT = r"""
{% if messages[0]['role'] == 'system' %}
    {% set system = messages[0]['content'] %}
    {% set rest = messages[1:] %}
{% else %}
    {% set system = '' %}
    {% set rest = messages %}
{% endif %}
{% for message in rest %}
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('roles must alternate user/assistant/user/assistant/...') }}
    {% endif %}
    {% if loop.index0 == 0 and system %}
{{ bos_token + '[' + system | trim + '] ' }}
    {%- endif %}
    {%- if message['content'].startswith('Hi') %}{{ '(greeting)' }}{% endif %}
{{ message['role'][0] | upper }}:{{ message['content'] }} {{- eos_token if loop.last else '' }}
{% endfor %}
"""

TEMPLATES = {"test-thinking": _THINKING, "test-tools": _TOOLS, "test-strict": _STRICT}
