"""Where the server is, and who asks."""

from pydantic import Field, SecretStr

from propagation.model.base import Term


class Neo4jSettings(Term):
    """`password` has no default and is never shown. `retry_seconds`: how long a transaction that
    the server asks to repeat (deadlocks, a restart) is repeated before the caller is told.
    `answer_seconds`: how long any call may take, retries included (a server that froze is one that
    does not answer). `uri`: scheme, host and port; who asks stands in `user` and `password`."""

    uri: str = Field(
        "bolt://127.0.0.1:7687", pattern=r"^(bolt|neo4j)(\+s|\+ssc)?://[^@/\s]+(/[^@\s]*)?$"
    )
    user: str = Field("neo4j", min_length=1)
    password: SecretStr = SecretStr("")
    database: str = Field("neo4j", min_length=1)
    retry_seconds: float = Field(10.0, ge=0)
    answer_seconds: float = Field(120.0, gt=0)
    connections: int = Field(20, ge=1)
