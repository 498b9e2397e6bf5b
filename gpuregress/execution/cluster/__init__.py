"""Cases on the hosts of a Dask cluster.

The client plans, compiles and judges, as it does without a cluster. A Dask task starts a watched worker process of
`workers` on its host and waits for it: a hang, a crash or a fault ends that process and never the host.

- `link` is the client's side: a thread with the event loop of a Dask client. `pool` gives cases to it and takes their
  outcomes, as `workers.pool` does on one machine.
- `host` has the functions that Dask calls on a host, and the agent that they share there.
- `messages` are what travels. Files travel by digest: `sent_files` lists those that a case reads, and keeps
  them on a host. `replies` bring its dumps back.
"""
