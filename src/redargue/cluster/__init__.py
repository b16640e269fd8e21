"""Many workers on one batch: processes of this host, or of a Ray cluster's, over one shared ledger."""
