"""A team's datasets over time: uploads, versions, reports, and views of single rows."""
