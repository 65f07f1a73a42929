"""Premium re-ranking: pages whose score is unsure are judged for the question, in one call."""
