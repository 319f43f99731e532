"""`/api/openapi-artifacts`: signed upload of a description, reading and promoting bundles.

The signature is an HMAC of timestamp and raw body under the API key itself, so it is checked on the bytes
before they are parsed. Compiling happens between two transactions, in none.
"""

from __future__ import annotations

