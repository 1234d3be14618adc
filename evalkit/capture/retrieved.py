"""What a retriever gave, as documents in normal form: ``{"id", "content", "version", "chunk_id", "content_hash",
"rank", "score", "metadata"}``, what is not known left out.

Read from plain JSON, so that documents of any framework that `plain` renders are understood by the names of their
fields: texts, objects, pairs of a document and its score, LangChain's documents, LlamaIndex' nodes.
"""

from __future__ import annotations

import hashlib
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import is_number

__all__ = ["documents_of"]

_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "document_id", "doc_id", "id_", "source", "url", "uri"),
    "content": ("content", "page_content", "text", "document", "body"),
    "version": ("version", "document_version", "revision"),
    "chunk_id": ("chunk_id", "chunk", "node_id"),
    "content_hash": ("content_hash", "hash"),
    "rank": ("rank",),
    "score": ("score", "relevance_score", "similarity"),
}
_LISTS = ("documents", "results", "matches", "nodes", "source_nodes")


def documents_of(returned: Json) -> list[Json] | None:
    """The documents of a retriever's plain result; None when it is of no known form.

    ``rank`` counts from 1 in the order given; ``content_hash`` is the hex SHA-256 over the content as it was found, the
    name by which an index can be asked for the chunk again. Fields of no known name stay under ``metadata``.
    """
    if isinstance(returned, dict):
        inner = next((returned[name] for name in _LISTS if isinstance(returned.get(name), list)), None)
        return None if inner is None else documents_of(inner)
    if not isinstance(returned, list):
        return None
    found = [_document(item, rank) for rank, item in enumerate(returned, 1)]
    return None if any(document is None for document in found) else found


def _document(item: Any, rank: int) -> Json:
    score: Json = None
    if isinstance(item, list) and len(item) == 2 and is_number(item[1]):
        item, score = item
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("node"), dict):  # LlamaIndex: a node and its score
        item = {**item["node"], **{key: value for key, value in item.items() if key != "node"}}
    fields = dict(item)
    given = fields.pop("metadata", None)
    metadata = dict(given) if isinstance(given, dict) else {}
    document: dict[str, Any] = {}
    for name, others in _NAMES.items():
        value = _taken(fields, others)
        document[name] = _taken(metadata, others) if value is None else value
    document["rank"] = rank if document["rank"] is None else document["rank"]
    document["score"] = score if document["score"] is None else document["score"]
    if document["content_hash"] is None and isinstance(document["content"], str):
        document["content_hash"] = hashlib.sha256(document["content"].encode("utf-8", "backslashreplace")).hexdigest()
    document["metadata"] = {key: value for key, value in {**fields, **metadata}.items() if value is not None} or None
    return {name: value for name, value in document.items() if value is not None}


def _taken(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    name = next((name for name in names if fields.get(name) is not None), None)
    return None if name is None else fields.pop(name)
