"""Documents in Milvus: Milvus Lite or a server."""
