"""Lists, pages, selectors and watches."""

import asyncio
import time
from typing import Any

import pytest
import uvloop

from embedded.server.inprocess import MAPS, Client, config_map, serve
from heliostat.embedded.server.reading import watching

ALL_MAPS = "/api/v1/configmaps"


def names(tree: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in tree["items"]]


async def make(client: Client, *some: str, **metadata: Any) -> None:
    for name in some:
        await client.ok("POST", MAPS, config_map(name, **metadata))


class TestList:
    def test_items_come_in_order_and_leave_their_kind_to_the_list(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "b", "a", "c")
            tree = await client.ok("GET", MAPS)
            assert (tree["kind"], tree["apiVersion"]) == ("ConfigMapList", "v1")
            assert names(tree) == ["a", "b", "c"]
            assert all("kind" not in item for item in tree["items"])
            assert tree["metadata"]["resourceVersion"] == tree["items"][2]["metadata"]["resourceVersion"]

        serve(test)

    def test_pages_show_one_moment(self) -> None:
        async def test(client: Client) -> None:
            await make(client, *"abcde")
            first = await client.ok("GET", MAPS, limit="2")
            assert names(first) == ["a", "b"]
            assert first["metadata"]["remainingItemCount"] == 3
            await client.ok("DELETE", f"{MAPS}/c")
            await make(client, "cc")
            second = await client.ok("GET", MAPS, limit="2", **{"continue": first["metadata"]["continue"]})
            assert names(second) == ["c", "d"]
            assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
            third = await client.ok("GET", MAPS, limit="2", **{"continue": second["metadata"]["continue"]})
            assert names(third) == ["e"]
            assert "continue" not in third["metadata"]

        serve(test)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"labelSelector": "l=x"}, ["a", "c"]),
            ({"labelSelector": "l!=x"}, ["b"]),
            ({"labelSelector": "l in (x,y),l notin (y)"}, ["a", "c"]),
            ({"labelSelector": "!l"}, []),
            ({"fieldSelector": "metadata.name=b"}, ["b"]),
            ({"fieldSelector": "metadata.name!=b"}, ["a", "c"]),
            ({"fieldSelector": "metadata.namespace=default", "labelSelector": "l=y"}, ["b"]),
        ],
    )
    def test_selectors(self, query: dict[str, str], expected: list[str]) -> None:
        async def test(client: Client) -> None:
            for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
                await make(client, name, labels={"l": label})
            assert names(await client.ok("GET", ALL_MAPS, **query)) == expected

        serve(test)

    @pytest.mark.parametrize(
        "query",
        [
            {"labelSelector": "a b"},
            {"fieldSelector": "spec.nothing=1"},
            {"fieldSelector": "x"},
            {"limit": "many"},
            {"continue": "garbage"},
            {"resourceVersion": "x"},
            {"timeoutSeconds": "x"},
        ],
    )
    def test_bad_queries_are_refused(self, query: dict[str, str]) -> None:
        async def test(client: Client) -> None:
            status, answer = await client.call("GET", MAPS, **query)
            assert (status, answer["reason"]) == (400, "BadRequest")

        serve(test)

    @pytest.mark.parametrize(
        "query",
        [
            {"resourceVersionMatch": "Exact"},
            {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
            {"resourceVersion": "1", "resourceVersionMatch": "Never"},
            {"sendInitialEvents": "true"},
        ],
    )
    def test_options_that_do_not_go_together_are_refused(self, query: dict[str, str]) -> None:
        async def test(client: Client) -> None:
            status, answer = await client.call("GET", MAPS, **query)
            assert (status, answer["reason"], answer["details"]["kind"]) == (422, "Invalid", "ListOptions")

        serve(test)

    def test_an_exact_revision_shows_the_past(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a")
            then = (await client.ok("GET", MAPS))["metadata"]["resourceVersion"]
            await make(client, "b")
            past = await client.ok("GET", MAPS, resourceVersion=then, resourceVersionMatch="Exact")
            assert names(past) == ["a"]
            assert names(await client.ok("GET", MAPS, resourceVersion=then)) == ["a", "b"]

        serve(test)

    def test_the_future_and_the_forgotten_are_refused(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a", "b", "c")
            page = await client.ok("GET", MAPS, limit="1")
            status, answer = await client.call("GET", MAPS, resourceVersion="999999")
            assert (status, answer["reason"]) == (504, "Timeout")
            await make(client, "d")
            client.core.store.compact(client.core.store.revision)
            status, answer = await client.call("GET", MAPS, **{"continue": page["metadata"]["continue"]})
            assert (status, answer["reason"]) == (410, "Expired")
            old = page["metadata"]["resourceVersion"]
            status, answer = await client.call("GET", MAPS, resourceVersion=old, resourceVersionMatch="Exact")
            assert (status, answer["reason"]) == (410, "Expired")

        serve(test)


class TestWatch:
    def test_changes_come_in_order(self) -> None:
        async def test(client: Client) -> None:
            watch = await client.open_watch(MAPS)
            await make(client, "a")
            await client.patch(f"{MAPS}/a", {"data": {"z": "1"}})
            await client.ok("DELETE", f"{MAPS}/a")
            events = await watch.take(3)
            assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
            versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
            assert versions == sorted(set(versions))
            assert events[2]["object"]["data"] == {"k": "v", "z": "1"}
            assert events[0]["object"]["kind"] == "ConfigMap"

        serve(test)

    def test_without_a_version_what_is_there_comes_first(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a", "b")
            watch = await client.open_watch(MAPS)
            await make(client, "c")
            events = await watch.take(3)
            assert [event["object"]["metadata"]["name"] for event in events] == ["a", "b", "c"]

        serve(test)

    def test_it_goes_on_where_it_was(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a")
            since = (await client.ok("GET", MAPS))["metadata"]["resourceVersion"]
            await make(client, "b", "c")
            (event,) = await client.watch(MAPS, 1, resourceVersion=since)
            assert event["object"]["metadata"]["name"] == "b"

        serve(test)

    def test_an_object_enters_and_leaves_a_selection(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a", labels={"l": "no"})
            watch = await client.open_watch(
                MAPS, labelSelector="l=yes", resourceVersion=str(client.core.store.revision)
            )
            for label in ("yes", "yes too", "yes"):
                await client.patch(f"{MAPS}/a", {"metadata": {"labels": {"l": label.split()[0], "n": label[-3:]}}})
            await client.patch(f"{MAPS}/a", {"metadata": {"labels": {"l": "no"}}})
            await make(client, "b", labels={"l": "no"})
            await client.ok("DELETE", f"{MAPS}/b")
            await make(client, "c", labels={"l": "yes"})
            events = await watch.take(5)
            kinds = [event["type"] for event in events]
            assert kinds == ["ADDED", "MODIFIED", "MODIFIED", "DELETED", "ADDED"]
            assert events[3]["object"]["metadata"]["labels"]["l"] == "yes"
            left, last = events[3]["object"]["metadata"], events[2]["object"]["metadata"]
            assert int(left["resourceVersion"]) > int(last["resourceVersion"])

        serve(test)

    def test_a_streaming_list_ends_with_a_bookmark_that_says_so(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a", "b")
            query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
            events = await client.watch(MAPS, 3, **query)
            assert [event["type"] for event in events] == ["ADDED", "ADDED", "BOOKMARK"]
            metadata = events[2]["object"]["metadata"]
            assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
            assert metadata["resourceVersion"] == str(client.core.store.revision)

        serve(test)

    def test_a_forgotten_version_ends_with_410(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a", "b")
            client.core.store.compact(client.core.store.revision)
            (event,) = await client.watch(MAPS, 1, resourceVersion="2")
            assert event["type"] == "ERROR"
            assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")

        serve(test)

    def test_it_ends_after_its_time(self) -> None:
        async def test(client: Client) -> None:
            await make(client, "a")
            watch = await client.open_watch(MAPS, timeoutSeconds="1")
            assert [event["type"] for event in await watch.rest()] == ["ADDED"]

        serve(test)

    @pytest.mark.parametrize("run_loop", [asyncio.run, uvloop.run])
    def test_a_server_that_falls_behind_its_bookmarks_goes_on_with_them_and_ends(
        self, run_loop: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The next alarm is for a moment that has passed; uvloop runs it at once and cannot tell when it was for."""
        monkeypatch.setattr(watching, "BOOKMARK_SECONDS", 0.1)
        monkeypatch.setattr(watching, "LAST_BOOKMARK_SECONDS", 0.0)

        async def test(client: Client) -> None:
            watch = await client.open_watch(MAPS, timeoutSeconds="1", allowWatchBookmarks="true")
            time.sleep(0.35)  # the loop is busy with something else
            await watch.take(1)
            assert len(await watch.rest()) >= 3

        serve(test, run_loop)

    def test_one_name_is_watched_by_field(self) -> None:
        async def test(client: Client) -> None:
            watch = await client.open_watch(MAPS, fieldSelector="metadata.name=b")
            await make(client, "a", "b")
            (event,) = await watch.take(1)
            assert event["object"]["metadata"]["name"] == "b"

        serve(test)
