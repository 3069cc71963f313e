"""Calls to one server over HTTP. Everything above asks `post(path, body) -> HttpReply` and catches `HttpError`."""

from isogloss.models.http.client import HttpClient
from isogloss.models.http.reply import HttpError, HttpReply

__all__ = ["HttpClient", "HttpError", "HttpReply"]
