"""Every text of the site is there in Chinese, and what is compiled is what was written."""

from __future__ import annotations

import io

from django.core.management import call_command

from webui.management.commands.messages import extracted, findings


def test_every_text_is_translated_and_compiled() -> None:
    assert list(findings()) == []


def test_the_collector_finds_texts_of_code_and_of_templates() -> None:
    texts = {message.id for message in extracted()}
    assert {"Learning rate", "Skip to the content", "attempt %(number)s"} <= texts
    assert ("This can start, with %(count)d warning.", "This can start, with %(count)d warnings.") in texts


def test_the_check_of_the_command_agrees() -> None:
    out = io.StringIO()
    call_command("messages", "--check", stdout=out)
    assert out.getvalue() == ""
