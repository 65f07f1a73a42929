"""A browser for pages whose text a script writes. It has no network: the safe fetch asks for it."""
