"""How one model is reached: address, limits, price. Comes from `isogloss.toml` and the command line."""

from __future__ import annotations

from pydantic import Field

from isogloss.records import Price, Record

DTYPES = ("float32", "bfloat16", "float16", "float64", "auto")
"""How weights of `hf/` may be held; "auto": as they were saved."""


class ModelSettings(Record):
    """What may be set for a model; everything has a default that works."""

    base_url: str | None = None
    """Address of the server; the provider's own otherwise (or what its usual variable names)."""
    key_variable: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Environment variable that holds the key, where it isn't the provider's usual one."""
    max_connections: int = Field(16, ge=1, le=10_000)
    """Calls under way at once, at most; fewer while the provider says it is too much."""
    requests_per_minute: float | None = Field(None, ge=0.01, le=1e9)
    tokens_per_minute: float | None = Field(None, ge=0.01, le=1e12)
    """Tokens in and out together."""
    timeout: float = Field(300.0, gt=0, le=86_400)
    """Seconds for one request."""
    tries: int = Field(4, ge=1, le=100)
    """Requests for one call, at most."""
    retry_seconds: float = Field(600.0, ge=0, le=604_800)
    """No further try starts later than this after the first."""
    first_wait: float = Field(1.0, ge=0, le=3600)
    """Seconds before the second try, where the provider names none; doubled for each further one."""
    price: Price | None = None
    """None where it isn't known; never 0 for that."""
    batch_requests: int | None = Field(None, ge=1, le=1_000_000)
    """Most requests in one batch; the provider's own limit otherwise."""
    batch_megabytes: float | None = Field(None, ge=0.001, le=10_000)
    device: str | None = None
    """For `hf/`: "cpu", "cuda", "cuda:1", …; the best there is otherwise."""
    dtype: str = "float32"
    """For `hf/`: how weights are held; scores in half precision move by up to 0.7 nats."""
    batch_size: int = Field(16, ge=1, le=10_000)
    """For `hf/`: prompts computed together."""
