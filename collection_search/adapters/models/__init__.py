"""Chat models that plan queries: any LangChain chat model, and OpenAI or what speaks like it."""
