"""Settings: defaults, what each takes, and one clear line for whatever is wrong, without any secret."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from ammeter.base.errors import SettingsError
from ammeter.settings import Settings, load_settings
from tests.server import run_command

PASSWORD = "hunter2hunter2"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("AMMETER_") and not name.startswith("AMMETER_TEST_"):
            monkeypatch.delenv(name)


def test_without_any_setting_everything_is_on_this_machine() -> None:
    settings = load_settings()
    here = Path.cwd() / ".ammeter"
    assert settings.database == f"sqlite:///{here}/ammeter.db"
    assert settings.blobs == f"file://{here}/blobs"
    assert settings.public_url == "http://127.0.0.1:8321"
    assert (settings.host, settings.port, settings.region) == ("127.0.0.1", 8321, "us")
    assert (settings.allowed_hosts, settings.trusted_proxies) == ((), ())
    assert (settings.rate_api_burst, settings.rate_api_per_second) == (20_000, 10_000)
    assert (settings.log_level, settings.log_format) == ("info", "json")


def test_the_environment_sets_and_the_command_line_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMMETER_PORT", "9000")
    monkeypatch.setenv("AMMETER_HOST", "0.0.0.0")
    monkeypatch.setenv("AMMETER_S3_ALLOW_HTTP", "true")
    assert (load_settings().port, load_settings().s3_allow_http) == (9000, True)
    settings = load_settings(host=None, port=0)
    assert (settings.host, settings.port) == ("0.0.0.0", 0)


def test_settings_do_not_change_once_read() -> None:
    with pytest.raises(ValidationError):
        load_settings().port = 1


@pytest.mark.parametrize(
    ("host", "base_url", "public_url"),
    [
        ("0.0.0.0", "", "http://127.0.0.1:8321"),
        ("::", "", "http://[::1]:8321"),
        ("ammeter.internal", "", "http://ammeter.internal:8321"),
        ("0.0.0.0", "https://ammeter.example/", "https://ammeter.example"),
        ("0.0.0.0", "http://[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_the_public_address_is_the_base_url_or_one_that_can_be_reached(
    monkeypatch: pytest.MonkeyPatch, host: str, base_url: str, public_url: str
) -> None:
    monkeypatch.setenv("AMMETER_HOST", host)
    monkeypatch.setenv("AMMETER_BASE_URL", base_url)
    assert load_settings().public_url == public_url


def test_lists_are_words_between_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMMETER_ALLOWED_HOSTS", " ammeter.example , *.example.com,[::1],my_service,")
    monkeypatch.setenv("AMMETER_TRUSTED_PROXIES", "10.0.0.0/8, 192.168.1.1 ,::1,fd00::/8,10.1.2.3/8")
    settings = load_settings()
    assert settings.allowed_hosts == ("ammeter.example", "*.example.com", "[::1]", "my_service")
    assert settings.trusted_proxies == ("10.0.0.0/8", "192.168.1.1", "::1", "fd00::/8", "10.1.2.3/8")
    monkeypatch.setenv("AMMETER_ALLOWED_HOSTS", "*")
    monkeypatch.setenv("AMMETER_TRUSTED_PROXIES", "")
    assert (load_settings().allowed_hosts, load_settings().trusted_proxies) == (("*",), ())


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "http", "valid integer"),
        ("PORT", "", "valid integer"),
        ("PORT", "65536", "65535"),
        ("PORT", "-1", "greater than or equal to 0"),
        ("HOST", "", "at least 1 character"),
        ("DATABASE_THREADS", "0", "greater than or equal to 1"),
        ("DATABASE_THREADS", "65", "64"),
        ("REGION", "mars", "'us' or 'eu'"),
        ("REGION", "US", "'us' or 'eu'"),
        ("LOG_LEVEL", "loud", "'debug', 'info', 'warning' or 'error'"),
        ("LOG_FORMAT", "xml", "'json' or 'plain'"),
        ("S3_ALLOW_HTTP", "perhaps", "valid boolean"),
        ("RATE_API_BURST", "0", "greater than or equal to 1"),
        ("RATE_API_BURST", "1.5", "valid integer"),
        ("RATE_API_PER_SECOND", "0", "greater than 0"),
        ("RATE_API_PER_SECOND", "nan", "1000000"),
        ("RATE_API_PER_SECOND", "inf", "1000000"),
        ("BODY_TIMEOUT_S", "0", "greater than 0"),
        ("BODY_TIMEOUT_S", "soon", "valid number"),
        ("DRAIN_S", "-1", "greater than or equal to 0"),
        ("STOP_GRACE_S", "601", "600"),
        ("JOB_CONCURRENCY", "0", "greater than or equal to 1"),
        ("BASE_URL", "ammeter.example", "http://host[:port]"),
        ("BASE_URL", "ftp://ammeter.example", "http://host[:port]"),
        ("BASE_URL", "https://", "http://host[:port]"),
        ("BASE_URL", "https://ammeter.example/path", "http://host[:port]"),
        ("BASE_URL", "https://ammeter.example?x=1", "http://host[:port]"),
        ("BASE_URL", "https://ammeter.example#top", "http://host[:port]"),
        ("BASE_URL", "https://ammeter.example:port", "http://host[:port]"),
        ("BASE_URL", "https://ammeter.example:70000", "http://host[:port]"),
        ("BASE_URL", "https://[::1", "http://host[:port]"),
        ("ALLOWED_HOSTS", "https://ammeter.example", "is not a host name"),
        ("ALLOWED_HOSTS", "ok.example,ammeter.example:443", "'ammeter.example:443' is not a host name"),
        ("ALLOWED_HOSTS", "::1", "in brackets"),
        ("ALLOWED_HOSTS", "a.*.example", "is not a host name"),
        ("TRUSTED_PROXIES", "10.0.0.0/8,proxy.local", "'proxy.local' does not appear to be an IPv4 or IPv6"),
        ("TRUSTED_PROXIES", "10.0.0.0/99", "does not appear to be an IPv4 or IPv6"),
    ],
)
def test_a_wrong_value_gives_one_line_that_names_the_variable_and_shows_the_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"AMMETER_{name}", value)
    with pytest.raises(SettingsError) as refusal:
        load_settings()
    message = refusal.value.message
    assert message.startswith(f"AMMETER_{name}: ")
    assert said in message
    assert value.rsplit(",", 1)[-1] in message
    assert "\n" not in message


def test_a_value_with_line_breaks_still_gives_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMMETER_REGION", "us\nAMMETER: all is well")
    with pytest.raises(SettingsError) as refusal:
        load_settings()
    assert len(refusal.value.message.splitlines()) == 1


def test_a_password_in_a_wrong_value_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMMETER_BASE_URL", f"https://me:{PASSWORD}@ammeter.example")
    with pytest.raises(SettingsError, match="AMMETER_BASE_URL") as refusal:
        load_settings()
    assert PASSWORD not in refusal.value.message


def test_no_secret_is_in_the_text_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    key = base64.b64encode(b"k" * 32).decode()
    monkeypatch.setenv("AMMETER_DATABASE_URL", f"postgresql://ammeter:{PASSWORD}@db/ammeter")
    monkeypatch.setenv("AMMETER_SEALING_KEYS", key)
    for name in ("METRICS_TOKEN", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AMMETER_{name}", PASSWORD)
    settings = load_settings()
    for text in (repr(settings), str(settings), settings.model_dump_json()):
        assert PASSWORD not in text
        assert key not in text
    assert PASSWORD in settings.database


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AMMETER_DATABSE_URL", "AMMETER_DATABASE_URL"),
        ("AMMETER_DATABASEURL", "AMMETER_DATABASE_URL"),
        ("AMMETER_PROT", "AMMETER_PORT"),
        ("AMMETER_SEALING_KEY", "AMMETER_SEALING_KEYS"),
        ("AMMETER_LOGLEVEL", "AMMETER_LOG_LEVEL"),
        ("AMMETER_ALLOWED_HOST", "AMMETER_ALLOWED_HOSTS"),
    ],
)
def test_a_name_that_is_nearly_a_settings_is_refused_with_the_right_one(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, PASSWORD)
    with pytest.raises(SettingsError) as refusal:
        load_settings()
    assert refusal.value.message == f"{name} is not a setting. Did you mean {meant}?"


def test_names_that_are_not_ours_are_nobodys_business(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AMMETER_TEST_PORTS", "AMMETERS", "DATABASE_URL", "XAMMETER_PORT"):
        monkeypatch.setenv(name, "x")
    assert load_settings().port == 8321


@pytest.mark.parametrize("field", sorted(Settings.model_fields))
def test_every_setting_is_explained_in_a_sentence(field: str) -> None:
    description = Settings.model_fields[field].description
    assert description
    assert description.endswith(".")


def test_a_server_with_a_wrong_setting_does_not_start_and_says_why_in_one_line(tmp_path: Path) -> None:
    done = run_command(tmp_path, "serve", port="http", database_url=f"postgresql://me:{PASSWORD}@db/x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ammeter: AMMETER_PORT: ")
    assert len(done.stderr.splitlines()) == 1
    assert PASSWORD not in done.stderr


@pytest.mark.parametrize(
    ("given", "networks"),
    [
        ("10.0.0.0/8, 127.0.0.1", ("10.0.0.0/8", "127.0.0.1")),
        ("*", ("*",)),
        ("true", ("*",)),
        ("1", ("*",)),
        ("false", ()),
        ("0", ()),
        ("", ()),
    ],
)
def test_private_networks_are_a_list_or_a_switch(
    monkeypatch: pytest.MonkeyPatch, given: str, networks: tuple[str, ...]
) -> None:
    monkeypatch.setenv("AMMETER_ALLOW_PRIVATE_NETWORKS", given)
    assert load_settings().allow_private_networks == networks


def test_only_named_variables_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMMETER_SECRET_ENV_NAMES", "CRM_TOKEN,NOT_SET")
    monkeypatch.setenv("CRM_TOKEN", PASSWORD)
    monkeypatch.setenv("OTHER_TOKEN", PASSWORD)
    assert load_settings().secret_environment == {"CRM_TOKEN": PASSWORD}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("AMMETER_ALLOW_PRIVATE_NETWORKS", "10.0.0.0/99", "does not appear to be an IPv4 or IPv6 network"),
        ("AMMETER_ALLOW_PRIVATE_NETWORKS", "localhost", "does not appear to be an IPv4 or IPv6 network"),
        ("AMMETER_SECRET_ENV_NAMES", "A-B", "is not the name of an environment variable"),
        ("AMMETER_SECRET_ENV_NAMES", "AMMETER_SEALING_KEYS", "is a setting of the server itself"),
    ],
)
def test_networks_and_names_that_are_none(
    monkeypatch: pytest.MonkeyPatch, name: str, given: str, words: str
) -> None:
    monkeypatch.setenv(name, given)
    with pytest.raises(SettingsError, match=words):
        load_settings()
