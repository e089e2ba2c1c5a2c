"""Python runs this as it starts, in every process that a test begins."""

import loopback_only

loopback_only.watch()
