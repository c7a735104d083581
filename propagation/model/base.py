"""What every term of the vocabulary shares: frozen, strict about unknown fields, finite."""

from pydantic import BaseModel, ConfigDict


class Term(BaseModel):
    """An immutable value; a change makes a new one."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
