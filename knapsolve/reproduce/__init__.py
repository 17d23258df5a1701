"""One module per paper: its tables beside ours."""
