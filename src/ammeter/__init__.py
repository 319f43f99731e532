"""Ammeter: host an API for agents, test MCP servers with agents, see what agents tried to do."""

__version__ = "0.1.0"
