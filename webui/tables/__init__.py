"""The resource tables as pages: the back office, import and export, and the reading page of everybody."""
