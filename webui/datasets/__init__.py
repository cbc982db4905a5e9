"""What the pages of a dataset show, put together from rows and reports."""
