"""`python -m isogloss` is the command line."""

from isogloss.cli import main

if __name__ == "__main__":
    main()
