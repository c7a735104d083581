"""What the whole service uses: errors, clock, console, measurements; knows no other room."""
