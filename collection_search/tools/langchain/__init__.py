"""A collection as LangChain knows it: a retriever, and a vector store."""
