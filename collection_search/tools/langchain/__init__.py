"""Classes of LangChain: the vector store of a collection, and tools for models."""
