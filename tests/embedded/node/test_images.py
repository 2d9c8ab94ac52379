"""Which environment an image name stands for, and what is told of names and tables that cannot be used."""

import pytest

from heliostat.embedded.node.imaging.images import (
    Build,
    Image,
    ImageTableError,
    Tag,
    UnknownImageError,
    build_image_environment,
    find_image,
    image_mounts,
    read_table,
    read_tag,
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
        find_image("quay.io/team/thing:1.2", TABLE, "/etc/images.toml")
    assert 'the image "quay.io/team/thing:1.2"' in str(raised.value)
    assert "lines to /etc/images.toml" in str(raised.value)
    line = str(raised.value).rpartition(": ")[2]
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


TAG = r"(?P<version>\d+\.\d+\.\d+)(?:-py(?P<python>\d+))?(?:-.*)?"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("team/thing:1.2.3", Tag("1.2.3")),
        ("registry.example.com:443/team/thing:1.2.3-py311-gpu", Tag("1.2.3", "3.11")),
        ("team/thing:1.2.3-py39", Tag("1.2.3", "3.9")),
        ("team/thing:1.2.3-gpu@sha256:00", Tag("1.2.3")),
        ("team/thing:latest", None),
        ("team/thing", None),
        ("localhost:5000/thing", None),
        ("team/thing@sha256:00", None),
    ],
)
def test_a_tag_says_which_version_it_asks_for(name: str, expected: Tag | None) -> None:
    assert read_tag(name, TAG) == expected


def test_an_entry_without_a_pattern_reads_nothing_from_tags() -> None:
    assert read_tag("team/thing:1.2.3", "") is None


def test_an_entry_that_builds_leaves_tags_without_a_version_to_the_next() -> None:
    built = Image(match="team/*", tag=TAG, build=Build(requirements=("thing=={version}",)))
    there = Image(match="team/*")
    assert find_image("team/thing:1.2.3", (built, there)) is built
    assert find_image("team/thing:latest", (built, there)) is there


def test_a_build_is_read_from_a_table() -> None:
    text = """
    [[image]]
    match = "team/*"
    tag = '(?P<version>.*)'
    build = { requirements = ["thing=={version}"] }
    """
    (image,) = read_table(text, "images.toml")
    assert image.build == Build(requirements=("thing=={version}",))


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ("tag = '('", "tag is no pattern: missing ), unterminated subpattern"),
        ("tag = '.*'", "tag names no version: write the part that does as (?P<version>…)"),
        ("build = { requirements = [] }", "a build needs to know the version: add tag = "),
        ("build = {}", "missing required field `requirements`"),
    ],
)
def test_a_tag_or_a_build_that_cannot_be_used_is_refused_with_the_way_out(entry: str, part: str) -> None:
    with pytest.raises(ImageTableError) as raised:
        read_table(f'[[image]]\nmatch = "x*"\n{entry}', "images.toml")
    assert part in str(raised.value)
    assert str(raised.value).startswith("images.toml: ")


def test_a_table_without_entries_is_empty() -> None:
    assert read_table("", "images.toml") == ()
