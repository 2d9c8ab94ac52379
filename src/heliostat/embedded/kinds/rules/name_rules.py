"""The rules for names and labels, remembered: the same few texts are judged again and again.

Texts too long to be names are judged afresh, so that nobody fills the memory with them.
"""

from collections.abc import Callable
from functools import lru_cache

from heliostat.kube import names

_REMEMBERED = 8192
_LONGEST = 320  # a DNS name, a slash and a label name


def _remember(problems: Callable[[str], list[str]]) -> Callable[[str], tuple[str, ...]]:
    @lru_cache(maxsize=_REMEMBERED)
    def remembered(text: str) -> tuple[str, ...]:
        return tuple(problems(text))

    def judge(text: str) -> tuple[str, ...]:
        return remembered(text) if len(text) <= _LONGEST else tuple(problems(text))

    return judge


dns1035_label_problems = _remember(names.dns1035_label_problems)
dns1123_label_problems = _remember(names.dns1123_label_problems)
dns1123_subdomain_problems = _remember(names.dns1123_subdomain_problems)
label_key_problems = _remember(names.label_key_problems)
label_value_problems = _remember(names.label_value_problems)
