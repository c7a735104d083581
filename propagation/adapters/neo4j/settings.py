"""Settings of the Neo4j server."""

from pydantic import Field, SecretStr

from propagation.adapters.shared.plain_secrets import refuse_plain_secret
from propagation.model import Term


class Neo4jSettings(Term):
    """The server's address, the user, and time limits.

    Attributes:
        uri: Scheme, host and port; without user and password.
        password: It has no default and is never shown.
        insecure: Send the password to other machines without TLS.
        retry_seconds: For how long a transaction is repeated that the server asks to repeat (after
            a deadlock, during a restart), and the time within which a server that answers nothing
            is noticed, at least 2 s: then calls that wait for it end.
        answer_seconds: The longest that any call to a server that answers others may take,
            including repeats, and the longest that a transaction may stay open: then the server
            ends it and releases its locks.
        connections: The largest number of connections of this process, besides the one that notices
            a server which answers nothing.
    """

    uri: str = Field(
        "bolt://127.0.0.1:7687", pattern=r"^(bolt|neo4j)(\+s|\+ssc)?://[^@/\s]+(/[^@\s]*)?$"
    )
    user: str = Field("neo4j", min_length=1)
    password: SecretStr = SecretStr("")
    insecure: bool = False
    database: str = Field("neo4j", min_length=1)
    retry_seconds: float = Field(10.0, ge=0)
    answer_seconds: float = Field(120.0, gt=0)
    connections: int = Field(20, ge=1)

    def credentials(self) -> tuple[str, str]:
        """Return the user and the password for a connection to `uri`.

        Raises:
            PlainSecret: The password would be sent over a network unencrypted.
        """
        password = self.password.get_secret_value()
        refuse_plain_secret("neo4j.password", password, self.uri, "neo4j", self.insecure)
        return self.user, password
