// name: schema/0003_clients_of_events
// purpose: no new index. Clients that only events named are marked, and the log loses the refs of erased clients: maintenance/upgrade
// parameters: none
