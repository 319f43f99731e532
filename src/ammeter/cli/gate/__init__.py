"""`ammeter gate`: a suite or cases as a step of CI: run, wait, report, and exit with what came of it."""
