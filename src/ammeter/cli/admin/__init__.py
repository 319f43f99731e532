"""`ammeter admin …`: the operator's commands, straight on the database. One file per noun."""

from __future__ import annotations

import typer

from ammeter.cli.admin import audit, feature, job, key, member, org, secret, source


def admin_commands() -> typer.Typer:
    admin = typer.Typer(no_args_is_help=True, help="The operator's commands, straight on the database.")
    admin.add_typer(org.commands, name="org", help="Organizations.")
    admin.add_typer(member.commands, name="member", help="People of an organization and their roles.")
    admin.add_typer(key.commands, name="key", help="API keys.")
    admin.add_typer(secret.commands, name="secret", help="Sealed secrets: values go in and never come out.")
    admin.add_typer(feature.commands, name="feature", help="What is switched on for an organization.")
    admin.add_typer(source.commands, name="source", help="Sources and their slugs.")
    admin.add_typer(job.commands, name="job", help="The queue.")
    admin.command("audit", help="Show the audit log, newest first.")(audit.show_audit)
    return admin
