"""The vector index, which is derived from the graph.

It is written after commits, compared with the graph, and repaired. The process that writes texts
must not load the compiler, so this file imports nothing that needs the numbers.
"""

from propagation.workflow.index.embedding import (
    embed_within_deadline,
    write_attribute_text,
    write_content_text,
)
from propagation.workflow.index.text_cache import (
    ClientTextCache,
    IndexedText,
    create_client_text_cache,
    get_indexed_text,
)
