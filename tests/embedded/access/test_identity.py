"""What a server keeps between starts."""

import stat
from pathlib import Path

import pytest

from heliostat.embedded.access.certificates import AUTHORITY_LIFE, DAY, LEAF_LIFE, build_authority
from heliostat.embedded.access.identity import (
    AUTHORITY_FILE,
    SERVER_FILE,
    SIGNING_KEY_FILE,
    Identity,
    load_identity,
    new_identity,
)
from heliostat.embedded.access.private_files import UnsafeFileError, replace_private
from heliostat.kube.hidden import Hidden

NOW = 1_800_000_000.0
FILES = (AUTHORITY_FILE, SERVER_FILE, SIGNING_KEY_FILE)


def revealed(identity: Identity) -> list[str]:
    return [
        identity.authority.certificate,
        identity.authority.key.reveal(),
        identity.server.certificate,
        identity.server.key.reveal(),
        identity.signing_key.reveal(),
    ]


def test_a_restart_finds_the_same_identity(tmp_path: Path) -> None:
    first = load_identity(tmp_path / "pki", NOW)
    assert revealed(load_identity(tmp_path / "pki", NOW + DAY)) == revealed(first)


def test_every_file_is_private(tmp_path: Path) -> None:
    load_identity(tmp_path / "pki", NOW)
    assert sorted(path.name for path in (tmp_path / "pki").iterdir()) == sorted(FILES)
    for name in FILES:
        assert stat.S_IMODE((tmp_path / "pki" / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700


def test_identities_differ_from_each_other(tmp_path: Path) -> None:
    texts = revealed(new_identity(NOW)) + revealed(new_identity(NOW)) + revealed(load_identity(tmp_path / "pki", NOW))
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("later", "names"), [(LEAF_LIFE * 0.7, ()), (0, ("box.example",))])
def test_a_server_certificate_that_is_due_or_lacks_a_name_is_made_anew(
    tmp_path: Path, later: float, names: tuple[str, ...]
) -> None:
    first = load_identity(tmp_path / "pki", NOW)
    second = load_identity(tmp_path / "pki", NOW + later, names)
    assert second.server.certificate != first.server.certificate
    assert revealed(second)[:2] == revealed(first)[:2], "clients go on trusting the same authority"
    assert second.signing_key.matches(first.signing_key.reveal()), "tokens go on being valid"
    assert revealed(load_identity(tmp_path / "pki", NOW + later, names)) == revealed(second)


def test_a_new_authority_makes_a_new_server_certificate(tmp_path: Path) -> None:
    first = load_identity(tmp_path / "pki", NOW)
    (tmp_path / "pki" / AUTHORITY_FILE).unlink()
    second = load_identity(tmp_path / "pki", NOW)
    assert second.authority.certificate != first.authority.certificate
    assert second.server.certificate != first.server.certificate


def test_an_expired_authority_is_refused_and_kept(tmp_path: Path) -> None:
    load_identity(tmp_path / "pki", NOW)
    before = (tmp_path / "pki" / AUTHORITY_FILE).read_text()
    with pytest.raises(UnsafeFileError, match="has expired"):
        load_identity(tmp_path / "pki", NOW + AUTHORITY_LIFE + DAY)
    assert (tmp_path / "pki" / AUTHORITY_FILE).read_text() == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("cut", [0, 0.3, 0.9])
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, name: str, cut: float) -> None:
    load_identity(tmp_path / "pki", NOW)
    path = tmp_path / "pki" / name
    broken = path.read_text()[: int(len(path.read_text()) * cut)]
    path.write_text(broken)
    with pytest.raises(UnsafeFileError, match="is damaged") as caught:
        load_identity(tmp_path / "pki", NOW)
    assert caught.value.path == path
    assert path.read_text() == broken


def test_halves_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    first = load_identity(tmp_path / "pki", NOW)
    mixed = Hidden(build_authority(NOW).key.reveal() + first.authority.certificate)
    replace_private(tmp_path / "pki" / AUTHORITY_FILE, mixed)
    with pytest.raises(UnsafeFileError, match="do not belong together"):
        load_identity(tmp_path / "pki", NOW)


def test_a_directory_open_to_others_is_refused_before_a_key_is_made(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki").chmod(0o755)
    with pytest.raises(UnsafeFileError, match="chmod 700"):
        load_identity(tmp_path / "pki", NOW)
    assert list((tmp_path / "pki").iterdir()) == []


@pytest.mark.parametrize(
    ("later", "problem"),
    [
        (
            -400 * DAY,
            r"is not valid yet, .*; by this machine's clock it is 2025-12-11 .* UTC: set",
        ),
        (
            AUTHORITY_LIFE + DAY,
            r"has expired; by this machine's clock it is 2037-01-13 .* UTC: set the clock if",
        ),
    ],
)
def test_a_wrong_clock_is_told_and_replaces_nothing(tmp_path: Path, later: float, problem: str) -> None:
    first = load_identity(tmp_path / "pki", NOW)
    with pytest.raises(UnsafeFileError, match=problem):
        load_identity(tmp_path / "pki", NOW + later)
    assert revealed(load_identity(tmp_path / "pki", NOW)) == revealed(first)
