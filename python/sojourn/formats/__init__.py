"""Files of other tools: packet captures read and written, qlog written."""
