"""Which objects a request selects: by label and by field, judged on the index entry without decoding a body."""

from collections.abc import Callable

from msgspec import Struct

from heliostat.embedded.server.errors import bad_request
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.records import Record
from heliostat.kube.field_selectors import FieldSelector, FieldTerm, parse_field_selector
from heliostat.kube.selector_text import parse_selector
from heliostat.kube.selectors import Selector, SelectorError

_ALWAYS = ("metadata.name", "metadata.namespace")


class Selection(Struct, frozen=True):
    labels: Selector
    fields: FieldSelector
    name: str = ""  # metadata.name=x narrows the scope itself

    @property
    def is_everything(self) -> bool:
        return not self.labels.requirements and not self.fields.terms

    def matches(self, record: Record) -> bool:
        return self.labels.matches(record.facts.labels) and all(_holds(term, record) for term in self.fields.terms)

    @property
    def filter(self) -> Callable[[Record], bool] | None:
        """None when everything matches, which lets the store skip the question."""
        return None if self.is_everything else self.matches


def _holds(term: FieldTerm, record: Record) -> bool:
    if term.field == "metadata.name":
        value = record.key.name
    elif term.field == "metadata.namespace":
        value = record.key.namespace
    else:
        value = record.facts.fields.get(term.field, "")
    return (value == term.value) == term.is_equal


def _unknown_field(field: str, resource: Resource) -> str:
    if resource.storage_name == "jobs.batch":
        return f'field label "{field}" not supported for Job'
    if resource.selectable or resource.is_custom:
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def read_selection(request: Request, resource: Resource) -> Selection:
    try:
        labels = parse_selector(request.parameter("labelSelector"))
        fields = parse_field_selector(request.parameter("fieldSelector"))
    except SelectorError as error:
        raise bad_request(error.server_words or f"unable to parse requirement: {error.problem}") from None
    for term in fields.terms:
        if term.field not in _ALWAYS and term.field not in resource.selectable:
            raise bad_request(_unknown_field(term.field, resource))
    names = [term.value for term in fields.terms if term.field == "metadata.name" and term.is_equal]
    return Selection(labels, fields, names[0] if names else "")
