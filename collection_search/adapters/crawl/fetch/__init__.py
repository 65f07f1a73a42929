"""The safe fetch of web pages: with checked addresses, throttles and limits."""
