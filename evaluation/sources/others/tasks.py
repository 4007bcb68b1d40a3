"""A file of tasks for invoke, as its guide has them: sixty short commands."""

from invoke import task


@task
def check(c):
    for _ in range(60):
        c.run("true")
