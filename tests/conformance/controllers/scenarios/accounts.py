"""What every namespace gets: an account for its Pods and the certificate of the API server."""

from conformance.controllers.model import Change, Look, Pick, Remove, Scenario, Until

DEFAULT = Pick(kind="ServiceAccount", name="default")
ROOTS = Pick(kind="ConfigMap", name="kube-root-ca.crt")
SHOWS = ("ServiceAccount", "ConfigMap", "Secret")

ACCOUNTS = (
    Scenario(name="account-furniture", shows=SHOWS, keeps_furniture=True, steps=(Look("end"),)),
    Scenario(
        name="account-comes-back",
        shows=SHOWS,
        keeps_furniture=True,
        steps=(Look("before"), Remove(DEFAULT), Look("end")),
    ),
    Scenario(
        name="account-certificate-comes-back",
        shows=SHOWS,
        keeps_furniture=True,
        steps=(
            Look("before"),
            Remove(ROOTS),
            Look("removed"),
            Change(ROOTS, {"data": {"ca.crt": "nonsense", "more": "text"}}),
            Until(Pick(kind="ConfigMap", name="kube-root-ca.crt", where={"data.more": None})),
            Look("changed"),
        ),
    ),
)
