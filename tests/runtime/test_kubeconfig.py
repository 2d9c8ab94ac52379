"""Kubeconfigs: merged as kubectl does, every mistake told in one sentence, no secret ever shown."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import AccessError, Connection, Proof
from heliostat.runtime.kubeconfig import find_connection, load_connection
from heliostat.runtime.kubeconfig_file import read_kubeconfig
from runtime.kubeconfig_files import AUTHORITY, CANARY, CLIENT, config, encoded, write

SKIP_AND_TRUST = {"server": "https://h", "insecure-skip-tls-verify": True, "certificate-authority-data": encoded("x")}


def proof_of(connection: Connection) -> Proof:
    return asyncio.run(connection.credentials.fetch())


def shown(secret: Hidden | None) -> str | None:
    return secret.reveal() if secret else None


def load(folder: Path, tree: dict[str, Any], context: str = "") -> Connection:
    return load_connection([write(folder, tree)], {}, context)


def test_the_first_file_that_names_something_decides_about_it_as_a_whole(tmp_path: Path) -> None:
    first = config({"token": "first"}, name="one")
    del first["current-context"]
    second = config({"token": "second", "as": "root"}, {"server": "https://elsewhere"}, name="one")
    third = config({"token": "third"}, name="two")
    paths = [write(tmp_path, tree, f"{n}") for n, tree in enumerate([first, second, third])]
    found = find_connection({"KUBECONFIG": ":".join(["", *map(str, paths), str(tmp_path / "none")])})
    assert (found.server, shown(proof_of(found).authorization), found.impersonation) == (
        "https://one:6443",
        "Bearer first",
        (),
    )
    other = load_connection(paths, {}, "two")
    assert (other.server, shown(proof_of(other).authorization)) == ("https://two:6443", "Bearer third")


def test_a_yaml_written_by_kubectl_with_nulls_is_read(tmp_path: Path) -> None:
    text = """
apiVersion: v1
kind: Config
preferences: {}
clusters:
- name: a
  cluster: {server: https://a, certificate-authority: null}
contexts:
- name: a
  context: {cluster: a, user: '', namespace: team}
current-context: a
users: null
"""
    (tmp_path / "config").write_text(text)
    found = load_connection([tmp_path / "config"], {})
    assert (found.server, found.namespace, proof_of(found)) == ("https://a", "team", Proof())


def test_where_it_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    home = write(tmp_path / ".kube", config(name="home"))
    listed = write(tmp_path, config(name="listed"), "listed")
    named = write(tmp_path, config(name="named"), "named")
    environ = {"HOME": str(tmp_path)}
    assert find_connection(environ).server == "https://home:6443"
    assert find_connection({**environ, "KUBECONFIG": str(listed)}).server == "https://listed:6443"
    assert find_connection({**environ, "KUBECONFIG": str(listed)}, named).server == "https://named:6443"
    assert find_connection({**environ, "KUBECONFIG": f"{tmp_path}/none:{listed}"}).server == "https://listed:6443"
    with pytest.raises(AccessError, match=r"/none: there is no such kubeconfig; name a kubeconfig that exists"):
        find_connection({**environ, "KUBECONFIG": f"{tmp_path}/none"})
    home.unlink()
    with pytest.raises(AccessError, match=r"\.kube/config: there is no such kubeconfig; name a kubeconfig that exists"):
        find_connection(environ)


def test_files_are_relative_to_the_kubeconfig_and_data_is_preferred(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(AUTHORITY.certificate)
    (tmp_path / "cert.pem").write_text(CLIENT.certificate)
    (tmp_path / "key.pem").write_text("not this one")
    user = {
        "client-certificate": "cert.pem",
        "client-key": "key.pem",
        "client-key-data": encoded(CLIENT.key.reveal()),
    }
    found = load(tmp_path, config(user, {"server": "https://h", "certificate-authority": "ca.pem"}))
    proof = proof_of(found)
    assert proof.certificate is not None
    assert proof.certificate.chain.reveal() == CLIENT.certificate.strip()
    assert proof.certificate.key.reveal() == CLIENT.key.reveal()
    assert found.authority is not None
    assert found.authority.read().reveal() == AUTHORITY.certificate.strip()


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({}, None),
        ({"token": " abc\n"}, "Bearer abc"),
        ({"username": "ann", "password": "b:c"}, "Basic YW5uOmI6Yw=="),
        ({"username": "ann"}, "Basic YW5uOg=="),
        ({"token": "abc", "exec": {"command": "never-run", "apiVersion": "whatever"}}, "Bearer abc"),
    ],
)
def test_what_a_user_shows(tmp_path: Path, user: dict[str, Any], header: str | None) -> None:
    assert shown(proof_of(load(tmp_path, config(user))).authorization) == header


def test_a_token_file_is_read_again_when_it_changes_and_kept_when_it_vanishes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{CANARY}1\n")
    found = load(tmp_path, config({"tokenFile": "token", "token": "not this one"}))
    assert shown(proof_of(found).authorization) == f"Bearer {CANARY}1"
    (tmp_path / "next").write_text(f"{CANARY}2\n")
    (tmp_path / "next").replace(file)
    assert shown(proof_of(found).authorization) == f"Bearer {CANARY}2"
    file.unlink()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert shown(proof_of(found).authorization) == f"Bearer {CANARY}2"
    assert len(caplog.records) == 1
    assert "the last content stays in use" in caplog.text
    assert CANARY not in caplog.text
    file.write_text(f"{CANARY}3\n")
    assert shown(proof_of(found).authorization) == f"Bearer {CANARY}3"


def test_acting_as_somebody_else(tmp_path: Path) -> None:
    user = {"as": "bob", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"example.com/x y": ["1", "2"]}}
    assert load(tmp_path, config(user)).impersonation == (
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2Fx%20y", "1"),
        ("Impersonate-Extra-example.com%2Fx%20y", "2"),
    )


def test_the_cluster_says_how_to_reach_it(tmp_path: Path) -> None:
    cluster = {"server": "https://h/", "tls-server-name": "api", "proxy-url": "http://p:1"}
    found = load(tmp_path, config(cluster=cluster))
    assert (found.server, found.tls_server_name, shown(found.proxy)) == ("https://h", "api", "http://p:1")
    assert load(tmp_path, config(cluster={"server": "https://h", "insecure-skip-tls-verify": True})).skip_tls_verify


V1, HALF = "client.authentication.k8s.io/v1", {"client-certificate-data": encoded("x")}


@pytest.mark.parametrize(
    ("tree", "context", "sentence"),
    [
        (config(), "onw", "config: there is no context named 'onw'; did you mean 'one'?"),
        (config(), "production", "config: there is no context named 'production'; there are: one"),
        ({"kind": "Config"}, "", "config: there is no current-context; name a context, or set one"),
        (config(clusters=[]), "", "config: there is no cluster named 'one'; there are: none"),
        (config(users=[]), "", "config: there is no user named 'one'; there are: none"),
        (config(contexts=[{"name": "one"}]), "", "context 'one' names no cluster; add the cluster's name"),
        (config(users=[{"name": "one"}] * 2), "", "users has two entries named 'one'; remove or rename one"),
        (config(cluster={}), "", "config: has no server; write it like https://host:6443"),
        (config(cluster={"server": 7}), "", "clusters[0].cluster.server: Expected `str`, got `int`; correct the value"),
        (config({"token": 7}), "", "users[0].user.token: Expected `str`, got `int`; correct the value; texts may need"),
        (config({"token": "a b"}), "", "user 'one' in "),
        (config({"token": "ä"}), "", "the token is not one line of visible characters; write the token and nothing"),
        (config({"tokenFile": "no"}), "", "/no of tokenFile cannot be read: No such file or directory; put it there"),
        (config({"client-certificate": "no"}), "", "/no of client-certificate cannot be read: No such file"),
        (config({"client-key-data": "%%"}), "", "client-key-data is not a text in base64; encode the PEM file: base64"),
        (config({"client-key-data": "/w=="}), "", "client-key-data is not a text in base64"),
        (config(HALF), "", "client-key is missing; a certificate needs its key: give both or neither"),
        (config({"token": "x", "username": "y"}), "", "has both a token and a username; keep one of them"),
        (config({"auth-provider": {"name": "gcp"}}), "", "the auth provider 'gcp' no longer exists in Kubernetes; use"),
        (config({"as-groups": ["x"]}), "", "as-uid, as-groups or as-user-extra without as; say as whom"),
        (config({"as": "x\ny"}), "", "a name to act as has characters that cannot be sent; use visible"),
        (config(cluster=SKIP_AND_TRUST), "", "certificate-authority and insecure-skip-tls-verify; remove insecure"),
        (config({"exec": {"apiVersion": V1}}), "", "the exec plugin has no command; name the program"),
        (config({"exec": {"command": "x"}}), "", "the exec plugin x has no apiVersion; use one of client.authen"),
        (
            config({"exec": {"command": "x", "apiVersion": V1 + "alpha1"}}),
            "",
            "x has client.authentication.k8s.io/v1al",
        ),
        (config({"exec": {"command": "x", "apiVersion": V1}}), "", "interactiveMode ''; use one of Never, IfAvailable"),
        (
            config({"exec": {"command": "x", "apiVersion": V1, "interactiveMode": "Always"}}),
            "",
            "x always wants to ask somebody, and nobody is there; use credentials that work without a person",
        ),
        ({"kind": "Pod"}, "", "holds a Pod, not a kubeconfig; name the file of `kind: Config`"),
    ],
)
def test_every_mistake_is_one_sentence(tmp_path: Path, tree: dict[str, Any], context: str, sentence: str) -> None:
    with pytest.raises(AccessError) as raised:
        load(tmp_path, tree, context)
    text = str(raised.value)
    assert sentence in text
    assert str(tmp_path) in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"token: [{CANARY}", ""),
        (f"users:\n- name: a\n  user: {{token: {CANARY}: x}}", ""),
        (f"{CANARY}", ""),
        ("kind: Config\n---\nkind: Config\n", "holds 2 documents; a kubeconfig is one document; split the file"),
        ("\x00\x01", ""),
        ("clusters: 3", "clusters: Expected `array`, got `int`"),
    ],
)
def test_what_is_no_kubeconfig_is_refused_with_its_place_and_without_its_secrets(
    tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(AccessError) as raised:
        load_connection([tmp_path / "config"], {})
    assert str(tmp_path / "config") in str(raised.value)
    assert sentence in str(raised.value)
    assert CANARY not in str(raised.value)


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="cannot be read: Is a directory; make it readable or name another file"):
        find_connection({}, tmp_path)


def test_no_secret_shows_in_any_representation(tmp_path: Path) -> None:
    secret = {"password": CANARY, "username": "ann", "client-key-data": encoded(CANARY)}
    secret |= {"client-certificate-data": encoded("x")}
    plugin: dict[str, Any] = {"command": "x", "apiVersion": V1, "interactiveMode": "Never", "args": [CANARY]}
    plugin["env"] = [{"name": "A", "value": CANARY}]
    cluster = {"server": "https://h", "proxy-url": f"http://u:{CANARY}@p"}
    for user in (secret, {"token": CANARY}, {"exec": plugin}):
        path = write(tmp_path, config(user, cluster))
        found = load_connection([path], {})
        texts = [repr(read_kubeconfig([path])), repr(found), str(found), repr(vars(found.credentials))]
        if "exec" not in user:
            texts.append(repr(proof_of(found)))
        for text in texts:
            assert CANARY not in text
            assert encoded(CANARY) not in text
