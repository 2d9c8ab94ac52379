"""Reviews: questions that are posted like objects, answered at once and never kept."""

from collections.abc import Callable

from msgspec import Struct

from heliostat.embedded.access.rbac import Policy
from heliostat.embedded.access.reviews import (
    answer_local_subject_access_review,
    answer_self_subject_access_review,
    answer_self_subject_review,
    answer_self_subject_rules_review,
    answer_subject_access_review,
    answer_token_review,
)
from heliostat.embedded.access.tokens import CheckToken
from heliostat.embedded.access.users import User
from heliostat.kube.jsontree import JsonObject


class ReviewAnswers(Struct, frozen=True):
    policy: Policy
    check_token: CheckToken
    audiences: tuple[str, ...]
    now: Callable[[], float]

    def answer(self, plural: str, question: JsonObject, user: User, namespace: str) -> JsonObject | None:
        """None when the resource is no review."""
        match plural:
            case "selfsubjectaccessreviews":
                return answer_self_subject_access_review(question, user, self.policy)
            case "subjectaccessreviews":
                return answer_subject_access_review(question, self.policy)
            case "localsubjectaccessreviews":
                return answer_local_subject_access_review(question, namespace, self.policy)
            case "selfsubjectrulesreviews":
                return answer_self_subject_rules_review(question, user, self.policy)
            case "selfsubjectreviews":
                return answer_self_subject_review(user, self.now())
            case "tokenreviews":
                return answer_token_review(question, self.check_token, self.audiences, self.now())
        return None
