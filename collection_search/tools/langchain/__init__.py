"""A collection as LangChain's vector store."""
