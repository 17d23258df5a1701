"""One module per paper: its tables and figures beside ours."""
