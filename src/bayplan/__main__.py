"""`python -m bayplan`: the command line, for where the script is not on the path."""

from bayplan.cli import main

if __name__ == "__main__":
    main(prog_name="bayplan")
