"""How similar pages are to a question, by one or several embedders, with their cost."""
