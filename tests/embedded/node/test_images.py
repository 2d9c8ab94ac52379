"""Which environment an image name stands for, and what is told of names and tables that cannot be used."""

import pytest

from heliostat.embedded.node.images import (
    Image,
    ImageTableError,
    UnknownImageError,
    build_image_environment,
    find_image,
    image_mounts,
    read_table,
    shorten,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("redis", "redis"),
        ("redis:7", "redis:7"),
        ("docker.io/library/redis:7", "redis:7"),
        ("docker.io/rayproject/ray:2.9@sha256:abc", "rayproject/ray:2.9"),
        ("localhost/mine", "mine"),
        ("localhost:5000/mine:1", "mine:1"),
        ("registry.example.com:443/team/thing", "team/thing"),
        ("rayproject/ray", "rayproject/ray"),
    ],
)
def test_registries_and_digests_do_not_count(name: str, expected: str) -> None:
    assert shorten(name) == expected


TABLE = (Image(match="rayproject/ray:2.9*", user=1), Image(match="rayproject/ray*", user=2), Image(match="ghcr.io/x/*"))


@pytest.mark.parametrize(
    ("name", "user"), [("rayproject/ray:2.9.1", 1), ("docker.io/rayproject/ray:2.60", 2), ("ghcr.io/x/y:1", 0)]
)
def test_the_first_entry_that_fits_counts_with_the_registry_or_without(name: str, user: int) -> None:
    assert find_image(name, TABLE).user == user


def test_an_unknown_image_names_the_line_to_add() -> None:
    with pytest.raises(UnknownImageError) as raised:
        find_image("quay.io/team/thing:1.2", TABLE)
    assert 'the image "quay.io/team/thing:1.2"' in str(raised.value)
    line = str(raised.value).partition("such as: ")[2]
    (image,) = read_table(line.replace("]] ", "]]\n"), "images.toml")
    assert find_image("quay.io/team/thing:1.2", (image,)) is image


def test_a_table_is_read_with_everything_an_image_brings() -> None:
    text = """
    [[image]]
    match = "team/*"
    path = ["/opt/team/bin"]
    command = ["serve"]
    work-directory = "/srv"
    user = 1000
    visible = ["/opt/team"]
    environment = { MODE = "fast" }
    """
    (image,) = read_table(text, "images.toml")
    assert (image.command, image.work_directory, image.user) == (("serve",), "/srv", 1000)
    environment = build_image_environment(image)
    assert environment["PATH"].startswith("/opt/team/bin:/usr/local/sbin:")
    assert environment["MODE"] == "fast"
    assert [(mount.source, mount.target, mount.is_read_only) for mount in image_mounts(image)] == [
        ("/opt/team", "/opt/team", True)
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[[image]", "images.toml: "),
        ("[[image]]\nuser = 1", "missing required field `match`"),
        ('[[image]]\nmatch = "x"\nuser = "root"', "Expected `int`, got `str` - at `$[0].user`"),
        ('image = "x"', "Expected `array`"),
    ],
)
def test_a_table_that_cannot_be_used_says_where_and_how_it_should_be(text: str, part: str) -> None:
    with pytest.raises(ImageTableError) as raised:
        read_table(text, "images.toml")
    assert part in str(raised.value)
    assert str(raised.value).startswith("images.toml: ")
    assert 'each entry is an [[image]] with match = "name*"' in str(raised.value)


def test_a_table_without_entries_is_empty() -> None:
    assert read_table("", "images.toml") == ()
