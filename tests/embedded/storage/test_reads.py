"""Lists: their order, their pages, their past."""

import pytest

from embedded.storage.stores import Disk, body, create, delete, drain, facts, in_loop, pod, update
from heliostat.embedded.storage.errors import CompactedError, FutureRevisionError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Record
from heliostat.embedded.storage.revisions import Page
from heliostat.embedded.storage.store import Store

PODS = Scope("pods")


def names(page: Page) -> list[str]:
    return [record.key.path for record in page.records]


async def create_all(store: Store, *paths: str) -> None:
    for path in paths:
        namespace, _, name = path.rpartition("/")
        await create(store, Key("pods", namespace, name))


@in_loop
async def test_a_list_of_nothing_is_empty_at_the_present_revision(disk: Disk) -> None:
    async with disk.open() as store:
        assert store.page(PODS) == Page([], 1, None, 0)
        await create(store, Key("services", "default", "s"))
        assert store.page(PODS) == Page([], 2, None, 0)
        assert store.count(PODS) == 0


@in_loop
async def test_objects_are_listed_by_path_as_text_like_kube_apiserver(disk: Disk) -> None:
    async with disk.open() as store:
        await create_all(store, "b/x", "a/z", "a-b/x", "a/b.c", "a/b-c", "a/b", "a0/x")
        assert names(store.page(PODS)) == ["a-b/x", "a/b", "a/b-c", "a/b.c", "a/z", "a0/x", "b/x"]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope("pods"), ["a-b/x", "a/x", "a/y", "a0/x", "ab/y", "b/x"]),
        (Scope("pods", "a"), ["a/x", "a/y"]),
        (Scope("pods", "a-b"), ["a-b/x"]),
        (Scope("pods", "a", "y"), ["a/y"]),
        (Scope("pods", "a", "none"), []),
        (Scope("pods", "", "x"), ["a-b/x", "a/x", "a0/x", "b/x"]),
        (Scope("pods", "c"), []),
        (Scope("nodes"), ["n1", "n2"]),
        (Scope("nodes", "", "n2"), ["n2"]),
        (Scope("secrets"), []),
    ],
)
@in_loop
async def test_a_scope_lists_and_counts_its_own_objects_only(disk: Disk, scope: Scope, expected: list[str]) -> None:
    async with disk.open() as store:
        await create_all(store, "b/x", "a/y", "ab/y", "a/x", "a0/x", "a-b/x")
        await create(store, Key("nodes", "", "n2"))
        await create(store, Key("nodes", "", "n1"))
        assert names(store.page(scope)) == expected
        assert store.count(scope) == len(expected)


@in_loop
async def test_pages_of_one_list_show_one_revision_whatever_happens_meanwhile(disk: Disk) -> None:
    async with disk.open() as store:
        await create_all(store, *(f"default/{letter}" for letter in "abcdefg"))
        first = store.page(PODS, limit=3)
        assert (names(first), first.after, first.remaining) == (
            ["default/a", "default/b", "default/c"],
            pod("c"),
            4,
        )
        await create_all(store, "default/cc", "default/z")
        await delete(store, pod("d"))
        await update(store, pod("e"))
        await delete(store, pod("a"))
        second = store.page(PODS, at=first.revision, after=first.after, limit=3)
        assert (names(second), second.revision) == (["default/d", "default/e", "default/f"], first.revision)
        assert second.records[1].revision <= first.revision
        assert second.remaining == 1
        third = store.page(PODS, at=first.revision, after=second.after, limit=3)
        assert (names(third), third.after, third.remaining) == (["default/g"], None, 0)


@in_loop
async def test_a_full_last_page_says_that_it_is_the_last(disk: Disk) -> None:
    async with disk.open() as store:
        await create_all(store, "default/a", "default/b", "other/c")
        page = store.page(Scope("pods", "default"), limit=2)
        assert (page.after, page.remaining) == (None, 0)


@in_loop
async def test_a_page_may_continue_at_the_latest_revision(disk: Disk) -> None:
    """As kube-apiserver offers when the revision of a list is compacted: not the same list, but no object twice."""
    async with disk.open() as store:
        await create_all(store, *(f"default/{letter}" for letter in "abcd"))
        first = store.page(PODS, limit=2)
        await create_all(store, "default/e")
        rest = store.page(PODS, after=first.after)
        assert (names(rest), rest.revision) == (["default/c", "default/d", "default/e"], store.revision)


@in_loop
async def test_a_page_may_continue_after_an_object_that_is_gone(disk: Disk) -> None:
    async with disk.open() as store:
        await create_all(store, *(f"default/{letter}" for letter in "abc"))
        await delete(store, pod("b"))
        assert names(store.page(PODS, after=pod("b"))) == ["default/c"]


@in_loop
async def test_a_limit_counts_matching_objects(disk: Disk) -> None:
    def is_even(record: Record) -> bool:
        return record.facts.labels.get("parity") == "even"

    async with disk.open() as store:
        for number in range(10):
            labels = facts(f"u{number}", parity="even" if number % 2 == 0 else "odd")
            await store.create(pod(str(number)), labels, body("x"))
        first = store.page(PODS, limit=3, matches=is_even)
        assert (names(first), first.after) == (["default/0", "default/2", "default/4"], pod("4"))
        rest = store.page(PODS, at=first.revision, after=first.after, limit=3, matches=is_even)
        assert (names(rest), rest.after) == (["default/6", "default/8"], None)


@in_loop
async def test_an_exact_older_revision_lists_what_stood_there_then(disk: Disk) -> None:
    async with disk.open() as store:
        first = await create(store, pod("a"), "one")
        await create(store, pod("b"))
        second = await update(store, pod("a"), "two")
        await delete(store, pod("a"))
        await create(store, pod("a"), "again")
        assert store.page(PODS, at=1).records == []
        assert store.page(PODS, at=2).records == [first]
        assert store.page(PODS, at=4).records[0] == second
        assert names(store.page(PODS, at=5)) == ["default/b"]
        assert store.page(PODS, at=6) == store.page(PODS)


@in_loop
async def test_a_revision_still_to_come_cannot_be_listed(disk: Disk) -> None:
    async with disk.open() as store:
        with pytest.raises(FutureRevisionError, match="revision 9 does not exist yet: the newest is 1") as caught:
            store.page(PODS, at=9)
        assert (caught.value.requested, caught.value.current) == (9, 1)


@in_loop
async def test_a_restarted_store_has_the_same_objects_revision_and_past(disk: Disk) -> None:
    async with disk.open() as store:
        await create_all(store, "a/x", "b/y", "c/z")
        await update(store, Key("pods", "b", "y"))
        await delete(store, Key("pods", "a", "x"))
        before = {at: store.page(PODS, at=at) for at in range(1, store.revision + 1)}
        events = drain(store.watch(PODS, 1))
    async with disk.open() as store:
        assert {at: store.page(PODS, at=at) for at in range(1, store.revision + 1)} == before
        assert drain(store.watch(PODS, 1)) == events
        assert (await create(store, pod("new"))).revision == 7


@in_loop
async def test_the_revision_survives_the_deletion_and_compaction_of_everything(disk: Disk) -> None:
    async with disk.open() as store:
        await create(store, pod("a"))
        last = await delete(store, pod("a"))
        store.compact(last.revision)
    async with disk.open() as store:
        assert (store.revision, store.compacted) == (last.revision, last.revision)
        assert (await create(store, pod("b"))).revision == last.revision + 1
        with pytest.raises(CompactedError):
            store.page(PODS, at=last.revision - 1)
