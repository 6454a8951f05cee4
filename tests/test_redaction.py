"""Passwords, in whatever spelling an engine takes them, are shown and written nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import parquet

import dsbench
from dsbench import _core, spec
from dsbench.archive import Archive
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


URLS += [
    f"postgresql://u@h/d?options=-c%20x.password%3D{WORD}", f"postgresql://u@h/d?options=-c%2520x.password%253D{WORD}",
    f"postgresql://u@h/d&password={WORD}", f"postgresql://u@h&password={WORD}", f"postgresql://u@h/d&sslmode=require&pass%77ord={WORD}",
    f"postgresql://h/d?token={WORD}", f"postgresql://h/d?api_key={WORD}", f"mysql://h/d?access_token={WORD}", f"sqlite:///x.db?key={WORD}",
    f"sqlite:///x.db?hexkey={WORD}", f"private:sqlite?key={WORD}", f"private:mariadb?wsrep_sst_auth=root:{WORD}",
    f"private:postgresql?primary_conninfo=host=h password={WORD}", f"private:postgresql?primary_conninfo=password={WORD}",
    f"private:postgresql?primary_conninfo=host%3Dh%20password%3D{WORD}", f"private:postgresql?primary_conninfo=password%3D%27{WORD}%20x%27",
    f"private:postgresql@15?work_mem=8MB&primary_conninfo=host=h%20password%3D%22{WORD}%22",
]  # fmt: skip


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
     "postgresql://h/d?password=***: no", "WHERE key = 5 AND token_size = 2", "a=" * 3000 + "1", "%25" * 3000 + "=1"],
)  # fmt: skip
def test_words_without_a_password_stay_as_they_are(text: str) -> None:
    assert redact_words(text) == text


def test_values_are_hidden_by_their_names() -> None:
    values = {"settings": {"password": WORD, "work_mem": "4MB"}, "pwd": 5, "levels": [f"mysql://me:{WORD}@h/d"], "text": "a: b@c"}
    assert redact_values(values) == {
        "settings": {"password": "***", "work_mem": "4MB"}, "pwd": "***", "levels": ["mysql://me:***@h/d"], "text": "a: b@c",
    }  # fmt: skip
    words = {"primary_conninfo": f"host=h password={WORD} user=u", "wsrep_sst_auth": f"root:{WORD}", "key": WORD, "work_mem": "4MB"}
    hidden = {"primary_conninfo": "host=h password=*** user=u", "wsrep_sst_auth": "***", "key": "***", "work_mem": "4MB"}
    assert redact_values({"target": {"settings": words}}) == {"target": {"settings": hidden}}
    level = {"name": "x", "path": "target.settings.primary_conninfo", "levels": [words["primary_conninfo"]]}
    sets = {"levels": [{"name": "x", "set": {"target.settings.wsrep_sst_auth": WORD, "target.settings.c": f"password={WORD}"}}]}
    assert WORD not in json.dumps(redact_values([level, sets]))
    scripts = {"workload_settings": {"scripts": "SELECT * FROM a WHERE password = :password AND key = 5"}}
    assert redact_values(scripts) == scripts
    assert is_secret("PGPASSWORD")
    assert is_secret("MYSQL_PWD")
    assert not is_secret("old_passwords")


@pytest.mark.parametrize(
    "settings",
    [("private:postgresql", "primary_conninfo", f"host=h password={WORD}"), ("private:postgresql", "primary_conninfo", f"host=h password='{WORD} x'"),
     ("private:mariadb", "wsrep_sst_auth", f"root:{WORD}")],
)  # fmt: skip
def test_no_file_of_a_run_holds_the_password_of_a_setting(tmp_path: Path, settings: tuple[str, str, str]) -> None:
    target, name, value = settings
    archive = dsbench.run(target, settings={name: value}, out=tmp_path, scales=(1,), cycles=1, duration=0.3, clients=1)
    packed = Archive.open(archive.path.with_name(f"{archive.path.name}.zip"))
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".zip"]
    texts += [packed.read(one) for one in packed.names()]
    texts += [repr(parquet.read_table(path).to_pylist()).encode() for path in archive.path.glob("*.parquet")]
    assert len(texts) > 20
    assert [text[:200] for text in texts if WORD.encode() in text] == []
    assert "***" in archive.run.spec.target.settings[name]
    with pytest.raises(spec.SpecError, match=f"{name} contained a password"):
        dsbench.specify(config=archive.path, trust=True)
    assert dsbench.specify(config=archive.path, settings={name: value}, trust=True).target.settings == {name: value}
