"""Settings of the Neo4j server."""

from pydantic import Field, SecretStr

from propagation.adapters.shared.plain_secrets import refuse_plain_secret
from propagation.model import Term


class Neo4jSettings(Term):
    """Settings of a Neo4j server: address, user and time limits."""

    uri: str = Field(
        "bolt://127.0.0.1:7687",
        pattern=r"^(bolt|neo4j)(\+s|\+ssc)?://[^@/\s]+(/[^@\s]*)?$",
        description=(
            "Address of the Neo4j server: scheme, host and port, without user and password."
        ),
    )
    user: str = Field("neo4j", min_length=1, description="User name at the server.")
    password: SecretStr = Field(
        SecretStr(""), description="The user's password; it is never shown."
    )
    insecure: bool = Field(False, description="Send the password to other machines without TLS.")
    database: str = Field("neo4j", min_length=1, description="Name of the database on the server.")
    retry_seconds: float = Field(
        10.0,
        ge=0,
        description=(
            "For how many seconds a transaction is repeated if the server asks for it (after "
            "a deadlock, during a restart), and how long a server may be silent before waiting "
            "calls end (2 s at least)."
        ),
    )
    answer_seconds: float = Field(
        120.0,
        gt=0,
        description=(
            "The most seconds that a call may take, repeats included, and that a transaction may "
            "stay open: then the server ends it and releases its locks."
        ),
    )
    connections: int = Field(
        20,
        ge=1,
        description=(
            "The most connections of this process, besides the one that notices a silent server."
        ),
    )

    def credentials(self) -> tuple[str, str]:
        """Return the user and the password for a connection to `uri`.

        Raises:
            PlainSecret: The password would be sent over a network unencrypted.
        """
        password = self.password.get_secret_value()
        refuse_plain_secret("neo4j.password", password, self.uri, "neo4j", self.insecure)
        return self.user, password
