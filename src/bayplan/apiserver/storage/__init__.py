"""Objects as bytes under one rising resourceVersion, in memory or in SQLite, with lists and watches over them."""
