"""Hostile templates: no way out of the sandbox, and bounded time, memory and output."""

import os
import threading

import pytest

from bactrian.errors import TemplateError
from bactrian.text._renderer import Renderer, RenderLimits
from bactrian.text.chat_template import ChatTemplate

USER = [{"role": "user", "content": "Hi"}]
LIMITS = RenderLimits(seconds=0.3, n_bytes=128 << 20, n_characters=1 << 20)


def render(source, limits=LIMITS):
    return ChatTemplate(source, limits=limits).render(USER).text


LOOP = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"
ENDLESS = {
    "nested loops": LOOP,
    "power": "{{ 7 ** (9 ** 9) }}",
    "nested lists": "{% set n = namespace(x=[1]) %}{% for i in range(90) %}"
    "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == 1 or n.x | string | length }}",
    "calls": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
    "{{ f(60) }}",
    "filler text": "{{ lipsum(n=100000000) }}",
}
HUGE = {
    "repeated text": "{{ 'a' * 1000000000 }}",
    "repeated list": "{{ [1] * 1000000000 }}",
    "centred": "{{ 'a' | center(1000000000) }}",
    "format": "{{ '%1000000000d' | format(1) }}",
    "format method": "{{ '{:1000000000d}'.format(1) }}",
    "indented": "{{ 'a\\nb' | indent(1000000000) }}",
    "range": "{{ range(10 ** 9) | list }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "deep source": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "output": "{% for i in range(90000) %}{{ 'a' * 1000 }}{% endfor %}",
    "doubling": "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}"
    "{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
}
ESCAPES = {
    "class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ raise_exception.__globals__ }}",
    "format": "{{ '{0.__class__.__init__}'.format(messages) }}",
    "filter": "{{ ('' | attr('__class__')).__mro__ }}",
    "namespace": "{% set n = namespace(__class__=1) %}",
    "mutation": "{{ messages.append(1) }}",
    "import": "{% include '/etc/passwd' %}",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_time_is_bounded(name):
    with pytest.raises(TemplateError, match=r"0\.3 s of processor time|too much memory"):
        render(ENDLESS[name])
    assert render("still {{ 6 * 7 }}") == "still 42"


@pytest.mark.parametrize("name", HUGE)
def test_size_is_bounded(name):
    message = "too much memory|nested too deeply|characters|Range too big|processor time"
    with pytest.raises(TemplateError, match=message):
        render(HUGE[name])


@pytest.mark.parametrize("name", ESCAPES)
def test_no_way_out(name):
    try:
        text = render(ESCAPES[name])
    except TemplateError:
        return
    # Jinja answers some attempts with nothing.
    assert text == ""


def test_bad_source_is_bounded_too():
    with pytest.raises(TemplateError):
        ChatTemplate(HUGE["deep source"], limits=LIMITS).check()


def test_the_templates_own_words():
    with pytest.raises(TemplateError) as caught:
        render("half {{ raise_exception('Only user and assistant roles are supported!') }}")
    assert str(caught.value) == "Only user and assistant roles are supported!"


def test_functions_of_transformers():
    assert render("{{ strftime_now('%Y') | length }}") == "4"
    assert render("{% generation %}a{% set x = 1 %}{% endgeneration %}b") == "ab"
    assert render(
        "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}"
    ) == ("01")
    assert render("{{ {'a': '<é>'} | tojson }}") == '{"a": "<é>"}'


def test_a_process_that_dies_is_replaced():
    renderer = Renderer()
    try:
        args = {"marks": "", "limits": LIMITS}
        assert renderer.render("{{ 1 }}", [{}], **args) == ["1"]
        with pytest.raises(TemplateError):
            renderer.render(LOOP, [{}], **args)
        assert renderer.render("{{ 2 }}", [{}, {}], **args) == ["2", "2"]
    finally:
        renderer.close()
    assert renderer.render("{{ 3 }}", [{}], marks="", limits=LIMITS) == ["3"]
    renderer.close()


def test_many_threads():
    texts: dict[int, str] = {}

    def work(n):
        texts[n] = render("{{ messages[0].content }}" + str(n))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {n: f"Hi{n}" for n in range(8)}


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_gets_its_own():
    assert render("{{ 1 }}") == "1"
    child = os.fork()
    if child == 0:
        os._exit(0 if render("{{ 2 }}") == "2" else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert render("{{ 3 }}") == "3"
