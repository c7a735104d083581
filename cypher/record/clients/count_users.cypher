// name: record/clients/count_users
// purpose: the number of users
// parameters: none
MATCH (c:User)
RETURN count(c)
