"""Tokens and certificates that cannot be used are refused before anything is sent."""

import pytest

from propagation_client import Credentials, PropagationClient


@pytest.mark.parametrize("alone", ["PROPAGATION_TLS_CERTIFICATE", "PROPAGATION_TLS_KEY"])
def test_a_caller_needs_both_certificate_and_key(alone):
    with pytest.raises(ValueError, match="belong together"):
        Credentials.from_environment({alone: "/somewhere.pem"})


@pytest.mark.parametrize("token", ["my read.secret", "my-read.s\u00e9cret", "one\ntwo"])
def test_a_malformed_token_is_refused_before_it_is_sent(token):
    with pytest.raises(ValueError, match="PROPAGATION_TOKEN is not a token"):
        Credentials.from_environment({"PROPAGATION_TOKEN": token})


def test_the_environment_is_read():
    environment = {"PROPAGATION_TOKEN": "my-read.secret\n", "PROPAGATION_TLS": "yes"}
    assert Credentials.from_environment(environment) == Credentials("my-read.secret", tls=True)
    assert Credentials.from_environment({"PROPAGATION_TLS_CA": "/ca.pem"}).encrypted
    assert not Credentials.from_environment({}).encrypted


def test_a_file_switches_tls_on():
    assert Credentials(ca="/ca.pem").encrypted, "else the calls would go in clear"
    assert Credentials(certificate="/a.pem", key="/a.key").encrypted


def test_a_token_never_crosses_a_network_in_plain_text():
    with pytest.raises(ValueError, match="PROPAGATION_TLS_CA"):
        PropagationClient("10.0.0.1:50051", Credentials(token="my-read.x"))


@pytest.mark.parametrize(
    "address",
    [
        "localhost",
        ":50051",
        "127.0.0.1:",
        "127.0.0.1:http",
        "",
        "http://127.0.0.1:50051",
        " 127.0.0.1:50051",
        "127.0.0.1:99999",
        "127.0.0.1:0",
    ],
)
def test_a_malformed_address_is_refused(address):
    with pytest.raises(ValueError, match="HOST:PORT"):
        PropagationClient(address)


def test_an_unreadable_certificate_is_named(tmp_path):
    absent = tmp_path / "ca.pem"
    with pytest.raises(FileNotFoundError, match=r"ca\.pem"):
        PropagationClient("10.0.0.1:50051", Credentials(token="my-read.x", ca=absent))
