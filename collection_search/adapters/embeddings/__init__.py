"""Embedders: OpenAI or what speaks like it, local ONNX models, any LangChain `Embeddings`."""
