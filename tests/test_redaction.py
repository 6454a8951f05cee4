"""Passwords, in whatever spelling an engine takes them, are shown and written nowhere."""

from __future__ import annotations

import json

import pytest

from dsbench import _core, spec
from dsbench.cli import errors
from dsbench.redaction import is_secret, redact, redact_values, redact_words, secrets_of
from dsbench.spec import RunSpec, Target
from dsbench.web import form

WORD = "S3cret"
NAMES = (
    "password", "PASSWORD", "pass%77ord", "%70%61%73%73%77%6f%72%64", "pass%2577ord", "passwd", "pwd", "pass",
    "sslpassword", "ssl_key_password", "ssl-key-password", "sslPassphrase", "my_secret", "pass%57ord",
)  # fmt: skip
PLACES = (
    "postgresql://me@h/d?{}", "postgres://h/d?sslmode=require&{}", "mysql://me@h/d?socket=/x&{}&a=b", "mariadb://me@h/?{}",
    "firebird://me@h//data/x.fdb?{}", "sqlite:///x.db?{}", "private:postgresql?{}", "private:mariadb@11?work=1&{}",
    "private:firebird?{}", "mock:?{}", "host=h user=me {}", "{} host=h",
)  # fmt: skip
URLS = [place.format(f"{name}={WORD}") for place in PLACES for name in NAMES]
URLS += [f"{scheme}://{login}@h/d" for scheme in ("postgresql", "mysql", "firebird")
         for login in (f"me:{WORD}", f":{WORD}", f"me:%53{WORD[1:]}", f"me:a@{WORD}", f"me:a/{WORD}", f"me:a?b={WORD}")]  # fmt: skip
URLS += [f"host=h password = '{WORD} with \\' blanks'", f'password="{WORD} x" host=h', f"postgresql://h/d?password={WORD}#x"]


@pytest.mark.parametrize("url", URLS)
def test_no_spelling_of_a_password_is_shown(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = [redact(url), redact_words(f"cannot reach {url}: no way"), redact_words(f"{url}: no way", secrets_of(url))]
    said.append(json.dumps(redact_values({"run": {"target": url, "targets": [{"url": url}]}})))
    try:
        target = Target(url=url)
        said += [target.redacted, json.dumps(RunSpec(target=target).described())]
        said.append(redact_words(f"the server says: {'; '.join(target.secrets)}", target.secrets))
        _core.Target(url)
    except Exception as error:
        errors.tell(f"{spec.redact(url)}: {error}", str(error))
    errors.tell(url)
    said += capsys.readouterr()
    texts = {"target": url, "workload_settings": f"password={WORD}"}
    try:
        said += [form.command(texts), form.toml(texts)]
    except spec.SpecError as error:
        said.append(form.without_secrets(f"{error} {error.remedy}", texts))
    assert [text for text in said if WORD[1:] in text] == []


@pytest.mark.parametrize(
    "url",
    ["postgresql://me@h:5432/d?passfile=/home/me/.pgpass&sslmode=require", "private:postgresql?password_encryption=md5",
     "private:mysql?default_password_lifetime=0", "mock:?latency_us=5", "sqlite:///password=1/run.db"],
)  # fmt: skip
def test_what_is_no_password_stays(url: str) -> None:
    assert redact(url) == url or url.startswith("sqlite")
    assert secrets_of(url) == []


@pytest.mark.parametrize(
    "text",
    ["password authentication failed for user \"me\"", "password: it is missing", "see http://127.0.0.1:9187/metrics.",
     "tls://[::1]:8786: no answer", "postgresql://me:***@h/d: FATAL: x@y", "SELECT * FROM a WHERE b = 'c'", "a = b",
     "postgresql://h/d?password=***: no"],
)  # fmt: skip
def test_words_without_a_password_stay_as_they_are(text: str) -> None:
    assert redact_words(text) == text


def test_values_are_hidden_by_their_names() -> None:
    values = {"settings": {"password": WORD, "work_mem": "4MB"}, "pwd": 5, "levels": [f"mysql://me:{WORD}@h/d"], "text": "a: b@c"}
    assert redact_values(values) == {
        "settings": {"password": "***", "work_mem": "4MB"}, "pwd": "***", "levels": ["mysql://me:***@h/d"], "text": "a: b@c",
    }  # fmt: skip
    assert is_secret("PGPASSWORD")
    assert is_secret("MYSQL_PWD")
    assert not is_secret("old_passwords")
